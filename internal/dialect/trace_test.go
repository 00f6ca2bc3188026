package dialect

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

const someTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestReadTrace(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{someTrace, someTrace},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
		{"01" + someTrace[2:], someTrace},
		{"01" + someTrace[2:] + "-what else", someTrace},
		{"01" + someTrace[2:] + "what else", ""},
		{someTrace + "-x", ""},
		{"ff" + someTrace[2:], ""},
		{strings.ToUpper(someTrace), ""},
		{someTrace + "\n" + someTrace, ""},
		{someTrace[:54], ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c.b7ad6b7169203331-01", ""},
		{"", ""},
	} {
		if got := ReadTrace(strings.Split(tt.lines, "\n")); got != tt.want {
			t.Errorf("%q is read as %q, want %q", tt.lines, got, tt.want)
		}
	}
	if got := ReadTrace(nil); got != "" {
		t.Errorf("no header is %q", got)
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(someTrace)
	f.Add("01" + someTrace[2:] + "-x")
	f.Fuzz(func(t *testing.T, s string) {
		got := ReadTrace([]string{s})
		if got != "" && (len(got) != len(someTrace) || ReadTrace([]string{got}) != got) {
			t.Errorf("%q is read as %q", s, got)
		}
	})
}

func TestReadTraceState(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"a=1,b=2", "a=1,b=2"}, {"a=1\nb=2", "a=1,b=2"}, {" a=1, \n,b=2", "a=1,b=2"}, {"", ""}, {"\n", ""},
		{"a=\x01", ""}, {"a=é", ""},
		{strings.Repeat("a", maxTraceState), strings.Repeat("a", maxTraceState)}, {strings.Repeat("a", maxTraceState+1), ""},
		{strings.Repeat("a=1,", 31) + "b=2", strings.Repeat("a=1,", 31) + "b=2"}, {strings.Repeat("a=1,", 32) + "b=2", ""},
	} {
		if got := ReadTraceState(strings.Split(tt.lines, "\n")); got != tt.want {
			t.Errorf("%q is read as %q, want %q", tt.lines, got, tt.want)
		}
	}
}

func FuzzTraceIn(f *testing.F) {
	f.Add([]byte(`{"u":{"traceparent":"` + someTrace + `","tracestate":"k=v"}}`))
	f.Add([]byte(`{"traceparent":"","u":{"traceparent":[]}}`))
	f.Fuzz(func(t *testing.T, metadata []byte) {
		req := &a2a.SendMessageRequest{Message: &a2a.Message{}, Metadata: metadata}
		trace, state := TraceIn(req)
		if trace != "" && ReadTrace([]string{trace}) != trace || trace == "" && state != "" || state != ReadTraceState([]string{state}) {
			t.Errorf("%q, %q", trace, state)
		}
	})
}

// The code is the one on the wire: 0.3 has statuses of its own.
func TestErrorType(t *testing.T) {
	for _, tt := range []struct {
		d             Dialect
		binding, want string
	}{
		{V10, a2a.BindingGRPC, "FAILED_PRECONDITION"}, {V03, a2a.BindingGRPC, "UNIMPLEMENTED"},
		{V10, a2a.BindingHTTPJSON, "400"}, {V03, a2a.BindingHTTPJSON, "501"}, {V03, a2a.BindingJSONRPC, "-32004"},
	} {
		if got := ErrorType(tt.d, tt.binding, a2a.CodeUnsupportedOperation); got != tt.want {
			t.Errorf("%s over %s: %s, want %s", tt.d, tt.binding, got, tt.want)
		}
	}
}
