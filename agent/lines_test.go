package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// printed feeds pieces to lines; "" stands for a flush.
func printed(t *testing.T, pieces ...string) *fakeHost {
	t.Helper()
	h := newHost("")
	l := &lines{w: newArtifact(h, "out")}
	for _, p := range pieces {
		err := l.write([]byte(p))
		if p == "" {
			err = l.flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLinesAreChunks(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"all at once", []string{"a\nb\nc\n"}, []string{`>out "a\n"`, `+ "b\n"`, `+. "c\n"`}},
		{"one by one", []string{"a\n", "b\n", "c\n"}, []string{`>out "a\n"`, `+ "b\n"`, `+. "c\n"`}},
		{"split anywhere", []string{"a", "\nb", "b\n", "c"}, []string{`>out "a\n"`, `+ "bb\n"`, `+. "c"`}},
		{"one line", []string{"a\n"}, []string{`>out. "a\n"`}},
		{"no line feed", []string{"a"}, []string{`>out. "a"`}},
		{"empty lines", []string{"\n\n\n"}, []string{`>out "\n"`, `+ "\n"`, `+. "\n"`}},
		{"carriage returns stay", []string{"a\r\nb\r\n"}, []string{`>out "a\r\n"`, `+. "b\r\n"`}},
		{"flush of a line", []string{"a\n", "", "b\n"}, []string{`>out "a\n"`, `+. "b\n"`}},
		{"flush of half a line", []string{"a", "", "b\n"}, []string{`>out "a"`, `+. "b\n"`}},
		{"flush before the end", []string{"a\n", ""}, []string{`>out "a\n"`, `+. ""`}},
		{"flush within a rune", []string{"a\xe2\x82", "", "\xac\n"}, []string{`>out "a"`, `+. "€\n"`}},
		{"flush of nothing", []string{"", "a\n", "", ""}, []string{`>out "a\n"`, `+. ""`}},
		{"broken rune at the end", []string{"a\xe2\x82"}, []string{`>out. "a��"`}},
	} {
		t.Run(c.name, func(t *testing.T) { wantScript(t, printed(t, c.pieces...), c.want...) })
	}
	t.Run("nothing", func(t *testing.T) {
		if h := printed(t); len(h.events) != 0 {
			t.Errorf("emitted %s", h.script())
		}
	})
}

func TestLongLinesAreCutBetweenRunes(t *testing.T) {
	for name, line := range map[string]string{
		"ascii":                  strings.Repeat("x", 3*maxChunk+5),
		"exactly one chunk":      strings.Repeat("x", maxChunk),
		"runes of three":         strings.Repeat("€", maxChunk),
		"bytes that are no text": strings.Repeat("\xff", maxChunk),
		"broken rune at the end": strings.Repeat("x", maxChunk-1) + "\xf0\x9f\x98",
	} {
		for _, size := range []int{1000, 32 << 10, 1 << 20} {
			t.Run(fmt.Sprint(name, "/", size), func(t *testing.T) {
				var pieces []string
				for rest := line; rest != ""; {
					n := min(size, len(rest))
					pieces, rest = append(pieces, rest[:n]), rest[n:]
				}
				h := printed(t, pieces...)
				if h.text(t) != string([]rune(line)) {
					t.Error("the text differs")
				}
				whole := len(string([]rune(line)))
				if got, most := len(h.events), whole/(maxChunk-utf8.UTFMax)+2; got > most {
					t.Errorf("%d chunks, want at most %d", got, most)
				}
				for i, ev := range h.events {
					if n := len(ev.artifact.Parts[0].Text); n > maxChunk {
						t.Errorf("chunk %d has %d bytes", i, n)
					}
				}
			})
		}
	}
}

func TestFloodOfLinesSharesChunks(t *testing.T) {
	flood := strings.Repeat("y\n", 200_000)
	var pieces []string
	for rest := flood; rest != ""; rest = rest[min(len(rest), 32<<10):] {
		pieces = append(pieces, rest[:min(len(rest), 32<<10)])
	}
	h := printed(t, pieces...)
	if h.text(t) != flood {
		t.Error("the text differs")
	}
	if n := len(h.events); n < manyLines || n > manyLines+len(pieces)+1 {
		t.Errorf("%d chunks for %d pieces", n, len(pieces))
	}
	for i, ev := range h.events {
		text := ev.artifact.Parts[0].Text
		if i < manyLines && text != "y\n" || len(text) > maxChunk || !strings.HasSuffix(text, "\n") {
			t.Fatalf("chunk %d has %d bytes, beginning %.20q", i, len(text), text)
		}
	}

	// A slow program is still read line by line.
	slow := append(pieces, "slow 1\n", "slow 2\n")
	n := len(printed(t, append(slow, "slow 3\n")...).events)
	if m := len(printed(t, slow...).events); n != m+1 {
		t.Errorf("one more line made %d chunks of %d", n, m)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\nc"), []byte{1, 2, 0, 3})
	f.Add([]byte("\n\n\xe2\x82\xac\n\xff"), []byte{3, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		h := newHost("")
		l := &lines{w: newArtifact(h, "out")}
		flushed := false
		rest := data
		for _, c := range cuts {
			if c == 0 {
				l.flush()
				flushed = true
				continue
			}
			n := min(int(c), len(rest))
			l.write(rest[:n])
			rest = rest[n:]
		}
		l.write(rest)
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		if got, want := h.text(t), string([]rune(string(data))); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := len(h.events); n > 0 && !h.events[n-1].last {
			t.Error("the last chunk does not say so")
		}
		// Without flushes, how the output was split makes no difference.
		if want := bytes.Count(data, []byte("\n")); !flushed && len(data) > 0 {
			if data[len(data)-1] != '\n' {
				want++
			}
			if len(h.events) != want {
				t.Errorf("%d chunks for %d lines", len(h.events), want)
			}
		}
	})
}
