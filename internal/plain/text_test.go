package plain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanTakesWhatATerminalWouldObey(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text", "héllo\tworld\n日本語 🙂", "héllo\tworld\n日本語 🙂"},
		{"colour", "a\x1b[31;1mred\x1b[0mb", "aredb"},
		{"colour by C1", "a\u009b31mred", "ared"},
		{"erase the screen", "\x1b[2J\x1b[Hfake", "fake"},
		{"title by OSC and BEL", "a\x1b]0;owned\ab", "ab"},
		{"link by OSC and ST", "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"OSC by C1", "a\u009d0;owned\u009cb", "ab"},
		{"clipboard", "\x1b]52;c;Zm9v\ax", "x"},
		{"device control string", "a\x1bPq#0\x1b\\b", "ab"},
		{"character set", "a\x1b(0b", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"a string that is never closed keeps its text", "a\x1b]0;rest of the answer", "a0;rest of the answer"},
		{"a string does not reach over a line", "\x1b]0;x\nkept\a", "0;x\nkept"},
		{"a string ends where another sequence begins", "a\u009d0;rest\u009b31m of\a the answer", "a0;rest of the answer"},
		{"strings without end", strings.Repeat("\u009d", 4<<20), ""},
		{"a lone escape", "end\x1b", "end"},
		{"backspace", "pass\b\b\b\bfail", "passfail"},
		{"carriage return", "good\rbad", "good\nbad"},
		{"line ends of Windows", "a\r\nb", "a\nb"},
		{"other line separators", "a\u0085b\u2028c\vd", "a\nb\nc\nd"},
		{"bidirectional override", "user\u202etxt.exe\u2066x\u2069", "usertxt.exex"},
		{"delete and null", "a\x7f\x00b", "ab"},
		{"broken UTF-8", "a\xffb", "a\uFFFDb"},
		{"replacement character", "a\uFFFDb", "a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.in); got != c.want {
				t.Errorf("Text(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanLineStaysOnOneLine(t *testing.T) {
	if got, want := Line(" a\nState: x\t\u2028b \r\n"), "a State: x  b"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

func TestCleanJSONKeepsTheMeaning(t *testing.T) {
	const doc = "{\n  \"a\": \"\u009b31m\u202ex\u2028\"\n}"
	got := JSON(doc)
	if !safe(got) {
		t.Errorf("JSON(%q) = %q, which is not safe", doc, got)
	}
	var was, is any
	if err := json.Unmarshal([]byte(doc), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &is); err != nil || !reflect.DeepEqual(was, is) {
		t.Errorf("JSON(%q) = %q, which means %v (%v)", doc, got, is, err)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"plain", "\x1b[31mred", "\u009b1;2m", "\x1b]0;t\a", "\x1bP\x1b\\", "\x1b", "\u202e", "\xc2\x1b[0m", "a\r\nb\rc", "\x1b\x1b[[mm",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("Text(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && (r < ' ' || 0x7f <= r && r <= 0x9f) || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
				t.Fatalf("Text(%q) = %q contains %U", s, got, r)
			}
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, but cleaned again it is %q", s, got, again)
		}
		if line := Line(s); strings.ContainsAny(line, "\n\t\u2028\u2029\u0085\v\f\r") {
			t.Errorf("Line(%q) = %q is more than a line", s, line)
		}
		if len(s) > 0 && safe(s) && got != s {
			t.Errorf("Text(%q) = %q changes a safe text", s, got)
		}
	})
}
