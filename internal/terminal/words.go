package terminal

import (
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/parley-a2a/parley/internal/plain"
)

// Indent begins each line of an agent's text if there are no colors.
const Indent = "  "

// words writes the texts of agents, and keeps them apart from this program's lines.
type words struct {
	s      *Screen
	b      []byte // not yet flushed
	column int    // in cells; only used without colors
	inside bool   // the line is not empty
	cr     bool   // the last text ended with a carriage return, which a line feed may follow
}

// text appends to the agent's previous text, on the same line unless that has ended.
func (w *words) text(s string) {
	if w.cr && strings.HasPrefix(s, "\n") {
		s = s[1:]
	}
	w.cr = strings.HasSuffix(s, "\r")
	w.clean(plain.Text(s))
}

// clean appends text that is safe to print.
func (w *words) clean(s string) {
	if s == "" {
		return
	}
	if w.s.colors {
		w.b = append(w.b, s...)
		w.inside = s[len(s)-1] != '\n'
		return
	}
	width := w.s.Width() - 1 // a terminal may wrap the line after its last cell
	for _, r := range s {
		if r == '\n' {
			w.endLine(true)
			continue
		}
		if r == wider {
			continue
		}
		cells := runewidth.RuneWidth(r)
		if r == '\t' {
			r, cells = ' ', 1
		}
		if w.inside && w.column+cells > width {
			w.endLine(true)
		}
		if !w.inside {
			w.b = append(w.b, Indent...)
			w.inside, w.column = true, len(Indent)
		}
		w.b = append(w.b, string(r)...)
		w.column += cells
	}
}

// endLine ends the current line of text; with empty, it ends an empty one, too.
func (w *words) endLine(empty bool) {
	if w.inside || empty {
		w.b = append(w.b, '\n')
	}
	w.inside = false
}

// ours writes a line of this program. An agent's words in it follow uncolored and are shortened
// to fit.
func (w *words) ours(style, text, theirs string) {
	theirs = plain.Line(theirs)
	w.line(w.s.paint(style, text) + Cut(theirs, max(w.s.Width()-1-runewidth.StringWidth(text), 1)))
}

// line writes a finished line.
func (w *words) line(line string) {
	w.endLine(false)
	w.cr = false
	w.b = append(append(w.b, line...), '\n')
}

// fits reports whether an agent's words fit on a line after this program's text.
func (w *words) fits(text, theirs string) bool {
	return !strings.Contains(strings.TrimSpace(plain.Text(theirs)), "\n") &&
		runewidth.StringWidth(text)+runewidth.StringWidth(plain.Line(theirs)) < w.s.Width()
}

// flush writes everything.
func (w *words) flush() error {
	if len(w.b) == 0 {
		return nil
	}
	_, err := w.s.Out().Write(w.b)
	w.b = w.b[:0]
	return err
}
