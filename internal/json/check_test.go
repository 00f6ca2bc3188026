package json

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// slow returns what Valid must return.
func slow(doc []byte, most int) bool {
	return utf8.Valid(doc) && stdjson.Valid(doc) && nesting(doc) <= most
}

// nesting returns how deep a valid document nests.
func nesting(doc []byte) int {
	most, now, quoted := 0, 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

var documents = []string{
	``, ` `, `{}`, ` { } `, `[]`, `[ ]`, `{"a":1}`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`,
	`0`, `-0`, `00`, `01`, `-`, `1.`, `.1`, `1.5e`, `1.5e+`, `1e5`, `1E-5`, `+1`, `-1.25e+10`, `1e5x`, `0x1`, `1a`,
	`true`, `tru`, `truex`, `false`, `null`, `nul`, `nulll`, `NaN`,
	`""`, `"`, `"a`, `"\`, `"\"`, `"\""`, `"\u12"`, `"\u12g4"`, `"\u12AF"`, `"\ud800"`, `"\x"`, `"\/\b\f\n\r\t\\"`,
	"\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"a\nb\"", "\"12345678\n\"", "\"1234567\x01\"", `"1234567"`, `"12345678"`, `"123456789"`,
	"\"\xff\"", "\"äöü\"", "\"\xc3\"", "\"日本語日本語\"", "\xef\xbb\xbf{}", "ä", "\"1234567\xc3\"", "[\"\xed\xa0\x80\"]", "\"\" \"ä\"",
	`[[[[[[]]]]]]`, `[{"a":[{}]}]`, `[}`, `{]`, `[[]`, `]`, `}`, `{"a":[}`, `{}{}`, `[] []`, `{"a":{"b":{"c":{}}}}`,
	"\t\r\n{\r\"a\"\n:\t[ 1 , 2.50 , \"x\" , null ]\r}\n", "\v[]", "[\f]", "[\u00a0]",
	`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"a \"b\"\nc"}]}}}`,
}

func FuzzValid(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc), uint8(100))
		f.Add([]byte(doc), uint8(2))
	}
	f.Add([]byte(strings.Repeat("[", 100)+strings.Repeat("]", 100)), uint8(100))
	f.Add([]byte(strings.Repeat(`{"a":`, 70)+`"ä"`+strings.Repeat("}", 70)), uint8(69))
	f.Fuzz(func(t *testing.T, doc []byte, levels uint8) {
		most := int(levels)
		want := slow(doc, most)
		if got := Valid(doc, most); got != want {
			t.Fatalf("Valid(%q, %d) is %v, encoding/json says %v", doc, most, got, want)
		}
	})
}

// Each byte has the same result at every place, though strings are read in steps of
// eight.
func TestValidAtEachPlace(t *testing.T) {
	for length := range 20 {
		for at := range length + 1 {
			for b := range 256 {
				doc := append([]byte{'"'}, strings.Repeat("x", length)...)
				doc = append(doc, `" `...)
				doc[at] = byte(b)
				if got, want := Valid(doc, 100), slow(doc, 100); got != want {
					t.Fatalf("Valid(%q) is %v, encoding/json says %v", doc, got, want)
				}
			}
		}
	}
}

func TestValidIsNestedAsDeepAsItMay(t *testing.T) {
	for _, depth := range []int{1, 63, 64, 65, 100, 127, 128, 129, 1000} {
		for _, open := range []string{"[", `{"a":`, `[{"a":`} {
			var doc []byte
			for nesting(doc) < depth {
				doc = append(doc, open...)
			}
			n := nesting(doc)
			doc = append(doc, '1')
			for i := len(doc) - 2; i >= 0; i-- {
				switch doc[i] {
				case '[':
					doc = append(doc, ']')
				case '{':
					doc = append(doc, '}')
				}
			}
			if !Valid(doc, n) {
				t.Errorf("%d levels of %s do not pass", n, open)
			}
			if Valid(doc, n-1) {
				t.Errorf("%d levels of %s pass for %d", n, open, n-1)
			}
		}
	}
}

func TestDeeper(t *testing.T) {
	for doc, depth := range map[string]int{
		`1`: 0, `"[{"`: 0, `[]`: 1, `{"a":[{}],"b":[]}`: 3, `["\"[[", []]`: 2, `["\\", []]`: 2,
		`{}`: 1, `[[],[]]`: 2, `{"[[":"{{"}`: 1, `["\"[[["]`: 1, `["\\\"[[",[[]]]`: 3,
		strings.Repeat("[", 500) + strings.Repeat("]", 500): 500,
	} {
		if Deeper([]byte(doc), depth) {
			t.Errorf("%.40s nests more than %d levels deep", doc, depth)
		}
		if depth > 0 && !Deeper([]byte(doc), depth-1) {
			t.Errorf("%.40s nests at most %d levels deep", doc, depth-1)
		}
	}
	for _, flawed := range []string{``, `x[[[`, `[`, `[[`} {
		if Deeper([]byte(flawed), 2) {
			t.Errorf("%s nests more than 2 levels deep", flawed)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range documents {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf || r == '"' || r == '\\' })
		if want < 0 {
			want = len(s)
		}
		if got := plainPrefix(s); got != want {
			t.Fatalf("plainPrefix(%q) is %d, want %d", s, got, want)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	for name, doc := range map[string]string{
		"call":    documents[len(documents)-1],
		"1 MiB":   `{"raw":"` + strings.Repeat("QUJDREVG", 1<<17) + `"}`,
		"Unicode": `{"text":"` + strings.Repeat("日本語 ", 1000) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			doc := []byte(doc)
			for b.Loop() {
				if !Valid(doc, 100) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
