package dialect

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func TestKeys(t *testing.T) {
	long := strings.Repeat("k", maxKey)
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{[]string{"8e03978e"}, "8e03978e"},
		{[]string{`"8e03978e"`}, "8e03978e"},
		{[]string{" \t" + `"8e03978e" `}, "8e03978e"},
		{[]string{`"a \"b\" \\c"`}, `a "b" \c`},
		{[]string{`a "b" \c`}, `a "b" \c`},
		{[]string{"~"}, "~"},
		{[]string{`" "`}, " "},
		{[]string{long}, long},
		{[]string{`"` + long + `"`}, long},
		{[]string{`"` + strings.Repeat(`\"`, maxKey) + `"`}, strings.Repeat(`"`, maxKey)},
		{[]string{"k", `"k"`, "k"}, "k"},
	} {
		if got, err := ReadKey(tt.lines); err != nil || got != tt.want {
			t.Errorf("%q is read as %q, %v", tt.lines, got, err)
		}
	}
	for _, lines := range [][]string{
		{""}, {" "}, {`""`}, {`"`}, {`"k`}, {`"k" `, ""}, {`"k"k`}, {`"a", "a"`}, {`"k";p=1`}, {`"\k"`}, {`"k\"`}, {`"k\`},
		{"kéy"}, {`"kéy"`}, {"a\tb"}, {"a\x00b"}, {"a\x7fb"}, {long + "k"}, {`"` + long + `k"`}, {"a", "b"}, {"k", ""}, {`"a"`, `"b"`},
	} {
		got, err := ReadKey(lines)
		var e *a2a.Error
		if got != "" || !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != "Idempotency-Key" {
			t.Errorf("%q is read as %q, %v", lines, got, err)
		}
	}
}

func TestRetryOnTheCard(t *testing.T) {
	card := func(e ...*a2a.AgentExtension) *a2a.AgentCard {
		return &a2a.AgentCard{Capabilities: a2a.AgentCapabilities{Extensions: e}}
	}
	for _, want := range []Retry{{Window: 24 * time.Hour}, {Window: time.Second, Anonymous: true}, {Window: 1 << 62}} {
		ext := RetryExtension(want)
		if ext.Required || ext.URI != RetryURI {
			t.Errorf("%+v", ext)
		}
		want.Window = want.Window.Truncate(time.Second)
		if got, ok := ReadRetry(card(nil, &a2a.AgentExtension{URI: ResumeURI}, ext)); !ok || got.Anonymous != want.Anonymous || (got.Window-want.Window).Abs() > want.Window/1e9 {
			t.Errorf("%+v is read as %+v, %v", want, got, ok)
		}
	}
	if got, want := string(RetryExtension(Retry{90500 * time.Millisecond, true}).Params), `{"window":90,"anonymous":true}`; got != want {
		t.Errorf("params %s, want %s", got, want)
	}
	// More than there are nanoseconds is still above 0.
	if got, ok := ReadRetry(card(&a2a.AgentExtension{URI: RetryURI, Params: a2a.JSON(`{"window":1e300,"x":1}`)})); !ok || got.Window <= 0 || got.Anonymous {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, params := range []string{
		``, `null`, `{}`, `{"window":0}`, `{"window":-1}`, `{"window":"86400"}`, `{"window":1e-10}`, `{"window":60,"anonymous":1}`, `[60]`, `{"window":60`,
	} {
		if got, ok := ReadRetry(card(&a2a.AgentExtension{URI: RetryURI, Params: a2a.JSON(params)})); ok || got.Anonymous {
			t.Errorf("%q promises %+v", params, got)
		}
	}
	if _, ok := ReadRetry(card(RetryExtension(Retry{Window: 999 * time.Millisecond}))); ok {
		t.Error("less than a second is promised")
	}
}

// Whatever a header holds, it is a key that can be written and read again, or
// an error that names it.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"k", `"k"`, `"a\\\"b"`, `"k`, `"`, `"\`, "", " k ", `"k";p`, "\xff", `\"`} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		key, err := ReadKey([]string{a})
		var e *a2a.Error
		switch {
		case err != nil && (key != "" || !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != KeyHeader):
			t.Fatalf("%q: %q, %v", a, key, err)
		case err == nil:
			if !CheckKey(key) {
				t.Fatalf("%q is read as %q", a, key)
			}
			if again, err := ReadKey([]string{FormatKey(key)}); err != nil || again != key {
				t.Fatalf("%q is written %s and read %q, %v", key, FormatKey(key), again, err)
			}
		}
		other, otherErr := ReadKey([]string{b})
		both, err := ReadKey([]string{a, b})
		if ok := e == nil && otherErr == nil && key == other; ok != (err == nil) || ok && both != key {
			t.Fatalf("%q and %q: %q, %v", a, b, both, err)
		}
	})
}
