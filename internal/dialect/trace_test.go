package dialect

import (
	"strings"
	"testing"
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
