package terminal

import (
	"sync/atomic"
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

	what atomic.Pointer[string]
}

// silence is how long a wait shows nothing: most are shorter.
const silence = time.Second

// Wait begins a wait. It must be stopped.
func (s *Screen) Wait(what string) *Waiting {
	w := &Waiting{s: s, since: time.Now()}
	w.Say(what)
	w.Stop = s.repeat(silence, silence, w.show)
	return w
}

func (w *Waiting) show() {
	if w.s.meters.Load() > 0 {
		return
	}
	lasted := " · " + time.Since(w.since).Truncate(time.Second).String()
	w.s.Status(Cut(plain.Line(*w.what.Load()), w.s.Width()-1-runewidth.StringWidth(lasted)) + lasted)
}

// Say replaces the subject; the time goes on.
func (w *Waiting) Say(what string) { w.what.Store(&what) }
