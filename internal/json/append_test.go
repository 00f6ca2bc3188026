package json

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// appendStringSlowly is AppendString, one rune after the other.
func appendStringSlowly(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s { // what is not UTF-8 is U+FFFD here, too
		if r < ' ' || r == '"' || r == '\\' {
			b = appendEscape(b, byte(r), shortEscapes)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return append(b, '"')
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{
		"", "a", "plain text of more than eight bytes", "12345678", "1234567\n", "12345678\n", "a\"b\\c", "\x00\x1f \x7f\b\f\n\r\t",
		"äöü", "日本語 and more", "1234567ä89\n", "\xff", "ä\xff", "a\xc3", "\xed\xa0\x80", "\uFFFD", "\uFFFD\xff\uFFFD", "\xffä", "😀\xf0\x9f\x98",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendString([]byte("x"), s)
		if want := appendStringSlowly([]byte("x"), s); string(got) != string(want) {
			t.Fatalf("%q is %q, want %q", s, got, want)
		}
		if short := AppendStringAs(nil, s, "\n"); !stdjson.Valid(short) || strings.Contains(string(short), `\t`) && !strings.Contains(s, `\t`) {
			t.Fatalf("%q is %q with one short escape", s, short)
		}
		var back string
		if err := stdjson.Unmarshal(got[1:], &back); err != nil || utf8.ValidString(s) && back != s {
			t.Fatalf("%q is read as %q, %v", s, back, err)
		}
	})
}
