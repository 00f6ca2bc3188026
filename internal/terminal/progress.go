package terminal

import (
	"fmt"
	"sync"
	"time"
)

// Progress shows the progress of long work until stop is called: as a bar in the status line,
// otherwise as a line every ten seconds. Work that ends within a second shows nothing. look
// returns the progress, in another goroutine; an unknown total is 0. word formats a count.
func (s *Screen) Progress(what string, look func() (done, total int64), word func(int64) string, line func(string)) (stop func()) {
	began, first, then := time.Now(), linePause, linePause
	if s.Rewrites() {
		first, then = silence, barPause
	}
	return s.repeat(first, then, func() {
		done, total := look()
		text := fmt.Sprintf("%s · %s", howFar(what, done, total, word), time.Since(began).Truncate(time.Second))
		if s.Rewrites() {
			s.Status(text)
		} else {
			line(text)
		}
	})
}

// repeat calls show after a first pause, and again after each further one, until stop is
// called. stop waits for show and removes the status line; it may be called again.
func (s *Screen) repeat(first, then time.Duration, show func()) (stop func()) {
	over := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for pause := first; ; pause = then {
			select {
			case <-over:
				return
			case <-time.After(pause):
				show()
			}
		}
	})
	return sync.OnceFunc(func() {
		close(over)
		ended.Wait()
		s.Status("")
	})
}
