// Package terminal shows a person at a terminal what agents do: text that flows as it arrives,
// states as short lines, lists with one line per task, and one status line that is rewritten in
// place while there is nothing else to show.
//
// An agent's text cannot move the cursor, and cannot be mistaken for this program's own. All
// text goes through package plain. On a terminal with colors, all lines of this program are
// colored and no text of an agent is. Without colors (NO_COLOR, TERM=dumb), each line of an
// agent's text is wrapped to the width of the terminal and begins with [Indent], and no line of
// this program does.
//
// A Screen may be used by several goroutines; a Renderer belongs to one.
package terminal

import (
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/parley-a2a/parley/internal/plain"
)

// Screen is the standard output and standard error of a program, which may be the same
// terminal. Its status line is on standard error, and is erased before anything is written to
// either.
type Screen struct {
	// set by New, then constant
	out, err io.Writer
	outIs    bool // standard output is a terminal
	errIs    bool // standard error is a terminal that can rewrite a line
	watched  bool // standard error is a terminal of any kind
	colors   bool
	widthOf  func() int // 0 if not known

	meters atomic.Int32 // how many meters use the status line, which has priority over waits

	mu     sync.Mutex // protects the fields below, and the writers
	status bool       // the status line is shown
	open   bool       // the last line of standard output has no line feed yet
}

// New returns the screen of two writers; lookup is os.LookupEnv.
func New(out, err io.Writer, lookup func(string) (string, bool)) *Screen {
	s := &Screen{out: out, err: err, widthOf: func() int { return 0 }}
	name, named := lookup("TERM")
	dumb := named && (name == "dumb" || name == "")
	if fd, ok := Is(err); ok {
		s.watched = true
		s.errIs = !dumb && enableColors(fd)
		s.widthOf = widthOf(fd)
	}
	if fd, ok := Is(out); ok {
		s.outIs = true
		noColor, _ := lookup("NO_COLOR")
		s.colors = !dumb && noColor == "" && enableColors(fd)
		s.widthOf = widthOf(fd)
	}
	return s
}

// Is reports whether a stream is a terminal, and returns its file descriptor.
func Is(stream any) (fd int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

func widthOf(fd int) func() int {
	return func() int {
		width, _, err := term.GetSize(fd)
		if err != nil {
			return 0
		}
		return width
	}
}

// IsTerminal reports whether standard output is a terminal.
func (s *Screen) IsTerminal() bool { return s.outIs }

// Watched reports whether standard error is a terminal.
func (s *Screen) Watched() bool { return s.watched }

// Rewrites reports whether Status shows anything.
func (s *Screen) Rewrites() bool { return s.errIs }

// Width is the number of characters in a line: 80 if not known, and at least enough for a few
// words.
func (s *Screen) Width() int {
	if w := s.widthOf(); w > 0 {
		return max(w, 20)
	}
	return 80
}

// Out is standard output, and the original writer if there is no terminal.
func (s *Screen) Out() io.Writer {
	if !s.outIs && !s.errIs {
		return s.out
	}
	return writerFunc(func(p []byte) (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipeLocked()
		if len(p) > 0 {
			s.open = p[len(p)-1] != '\n'
		}
		return s.out.Write(p)
	})
}

// Err is standard error. Each write begins a new line.
func (s *Screen) Err() io.Writer {
	if !s.errIs {
		return s.err
	}
	return writerFunc(func(p []byte) (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipeLocked()
		if s.outIs && s.open { // the line is that of standard error, too
			s.open = false
			if _, err := io.WriteString(s.err, "\n"); err != nil {
				return 0, err
			}
		}
		return s.err.Write(p)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

const eraseLine = "\r\x1b[K"

// Status shows a text in the status line, in place of the previous one; "" removes it. It shows
// nothing if lines cannot be rewritten, or while a line of text is still growing, which is
// itself a sign of life.
func (s *Screen) Status(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.errIs || s.outIs && s.open {
		return
	}
	if text = Cut(plain.Line(text), s.Width()-1); text == "" {
		s.wipeLocked()
		return
	}
	if s.colors {
		text = dim + text + reset
	}
	s.status = true
	_, _ = io.WriteString(s.err, eraseLine+text) // an error does not matter here
}

func (s *Screen) wipeLocked() {
	if s.status {
		s.status = false
		_, _ = io.WriteString(s.err, eraseLine)
	}
}

// Cut shortens a line to a width, with an ellipsis at the end.
func Cut(text string, width int) string {
	return runewidth.Truncate(strings.ReplaceAll(text, string(wider), ""), width, "…")
}

// wider requests the emoji form of the character before it, which some terminals show two cells
// wide and others one. Cut removes it, because it counts cells.
const wider = '\uFE0F'

// Styles: the bullet of a state has the color of its kind; this program's other words are dim.
const (
	reset  = "\x1b[0m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
)

// paint colors one line of this program.
func (s *Screen) paint(style, text string) string {
	if !s.colors || text == "" {
		return text
	}
	return style + strings.TrimSuffix(text, "\n") + reset
}
