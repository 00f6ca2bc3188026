package output

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/plain"
)

// entry is what a reader of the text format makes of it: a field, or a block
// with its lines.
type entry struct {
	label, value string
	block        bool
	lines        []string
}

// readText reads the text format as a2a-cli §11.2 describes it and nothing
// else.
func readText(t *testing.T, text string) []entry {
	t.Helper()
	var list []entry
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines) && lines[i] != ""; i++ {
		line, ok := strings.CutSuffix(lines[i], "\n")
		label, value, isField := strings.Cut(line, ": ")
		switch {
		case !ok:
			t.Fatalf("the last line %q has no end", line)
		case isField:
			list = append(list, entry{label: label, value: value})
		case strings.HasSuffix(line, ":"):
			e := entry{label: strings.TrimSuffix(line, ":"), block: true}
			for i++; lines[i] != "\n"; i++ {
				e.lines = append(e.lines, strings.TrimSuffix(lines[i], "\n"))
			}
			list = append(list, e)
		default:
			t.Fatalf("%q is neither a field nor a block, in:\n%s", line, text)
		}
	}
	return list
}

// A2ACLI_OUT_005: whatever an agent says, a reader sees one field and one
// block, and no control character.
func FuzzTextWriter(f *testing.F) {
	f.Add("value", "content")
	f.Add("a\nState: forged", "one\n\n\nState: forged\n")
	f.Add("", "")
	f.Add("\x1b[31m", "\n\u2028\n\x1b]0;t\a")
	f.Fuzz(func(t *testing.T, value, content string) {
		var b strings.Builder
		w := NewWriter(&b)
		w.Field("Field", value)
		w.Block("Block", content)
		w.Field("End", "x")
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if plain.Text(b.String()) != b.String() {
			t.Errorf("not safe: %q", b.String())
		}
		got := readText(t, b.String())
		if len(got) > 0 && got[0].label == "Field" && !got[0].block {
			got = got[1:]
		} else if plain.Line(value) != "" {
			t.Errorf("the field is lost in %q", b.String())
		}
		if len(got) != 2 || got[0].label != "Block" || !got[0].block || got[1].label != "End" || got[1].value != "x" {
			t.Fatalf("%q reads as %+v", b.String(), got)
		}
		want := strings.TrimSuffix(plain.Text(content), "\n")
		if read := strings.Join(got[0].lines, "\n"); strings.ReplaceAll(read, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("the block reads as %q, want %q", read, want)
		}
	})
}
