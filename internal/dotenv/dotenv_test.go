package dotenv

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := parse([]byte("\uFEFF# comment\n" +
		"OTHER=${{ not ours }} 'broken\n" +
		"A2ACLI_A=plain value # comment\n" +
		"export A2ACLI_B = \"a\\n\\\"b\\\\ \\x\" # c\r\n" +
		"A2ACLI_C='as $it \\n is'\n" +
		"A2ACLI_D=\nA2ACLI_E=a#b=c\nA2ACLI_A=again"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"A2ACLI_A": "again", "A2ACLI_B": "a\n\"b\\ \\x", "A2ACLI_C": `as $it \n is`, "A2ACLI_D": "", "A2ACLI_E": "a#b=c",
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s = %q, want %q", name, v, want)
		}
	}
	if len(got) != 5 {
		t.Errorf("got %q", got)
	}
	for _, wrong := range []string{"A2ACLI_A", "A2ACLI_A=\"open", "A2ACLI_A='open", "A2ACLI_A=\"a\" b"} {
		if _, err := parse([]byte("\n" + wrong)); err == nil || !strings.HasPrefix(err.Error(), "2: A2ACLI_A") {
			t.Errorf("%q: error %v, want one that names line 2 and the variable", wrong, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("A2ACLI_A=b\nexport A2ACLI_C=\"d\\n\" # e\nX='y")
	f.Fuzz(func(t *testing.T, doc string) {
		values, err := parse([]byte(doc))
		if err != nil && values != nil {
			t.Error("values and an error")
		}
		for name := range values {
			if !strings.HasPrefix(name, Prefix) {
				t.Errorf("%q is not ours", name)
			}
		}
	})
}
