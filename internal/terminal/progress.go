package terminal

import (
	"fmt"
	"sync"
	"time"
)

// Progress shows how far long work is: as a bar in the status line, elsewhere as a line
// every ten seconds. Work that ends within a second shows nothing.
type Progress struct {
	s    *Screen
	what string
	look func() (done, total int64)
	word func(int64) string
	line func(string)

	began time.Time
	over  chan struct{}
	ended sync.WaitGroup
}

// Progress begins to show how far some work is. look says it, from another goroutine;
// a total that is not known is 0. word is a count in words. It must be stopped.
func (s *Screen) Progress(what string, look func() (done, total int64), word func(int64) string, line func(string)) *Progress {
	p := &Progress{s: s, what: what, look: look, word: word, line: line, began: time.Now(), over: make(chan struct{})}
	p.ended.Go(p.run)
	return p
}

func (p *Progress) run() {
	pause := linePause
	if p.s.Rewrites() {
		pause = silence
	}
	for {
		select {
		case <-p.over:
			return
		case <-time.After(pause):
		}
		done, total := p.look()
		text := fmt.Sprintf("%s · %s", howFar(p.what, done, total, p.word), time.Since(p.began).Truncate(time.Second))
		if !p.s.Rewrites() {
			p.line(text)
			continue
		}
		p.s.Status(text)
		pause = barPause
	}
}

// Stop ends the work and removes its line. It may be called again.
func (p *Progress) Stop() {
	select {
	case <-p.over:
		return
	default:
	}
	close(p.over)
	p.ended.Wait()
	p.s.Status("")
}
