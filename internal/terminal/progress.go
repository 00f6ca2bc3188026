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
	began, pause := time.Now(), linePause
	if s.Rewrites() {
		pause = silence
	}
	return s.begin(func(over <-chan struct{}) {
		for {
			select {
			case <-over:
				return
			case <-time.After(pause):
			}
			done, total := look()
			text := fmt.Sprintf("%s · %s", howFar(what, done, total, word), time.Since(began).Truncate(time.Second))
			if !s.Rewrites() {
				line(text)
				continue
			}
			s.Status(text)
			pause = barPause
		}
	})
}

// begin runs a display until stop is called, which waits for it and removes the status line.
// stop may be called again.
func (s *Screen) begin(run func(over <-chan struct{})) (stop func()) {
	over := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() { run(over) })
	return sync.OnceFunc(func() {
		close(over)
		ended.Wait()
		s.Status("")
	})
}
