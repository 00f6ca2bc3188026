package terminal

import (
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/parley-a2a/parley/internal/plain"
)

// Waiting shows a wait in the status line: its subject, and how long it has lasted.
type Waiting struct {
	s     *Screen
	since time.Time
	// Stop ends the wait and removes its line. It may be called again.
	Stop func()

	mu   sync.Mutex // protects the field below
	what string
}

// silence is how long a wait shows nothing: most are shorter.
const silence = time.Second

// Wait begins a wait. It must be stopped.
func (s *Screen) Wait(what string) *Waiting {
	w := &Waiting{s: s, since: time.Now(), what: what}
	w.Stop = s.repeat(silence, silence, w.show)
	return w
}

func (w *Waiting) show() {
	if w.s.meters.Load() > 0 {
		return
	}
	w.mu.Lock()
	what := w.what
	w.mu.Unlock()
	lasted := " · " + time.Since(w.since).Truncate(time.Second).String()
	w.s.Status(Cut(plain.Line(what), w.s.Width()-1-runewidth.StringWidth(lasted)) + lasted)
}

// Say replaces the subject; the time goes on.
func (w *Waiting) Say(what string) {
	w.mu.Lock()
	w.what = what
	w.mu.Unlock()
}
