package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/program"
)

// ask puts a question of the process to the client. The process keeps no place
// while it waits; it may be ended until it has one again, and then the run begins again
// from the top when the answer is there.
func (s *session) ask(ctx context.Context, line []byte, l *said) error {
	i := s.asked
	s.asked++
	if i < len(s.answers) {
		return s.send(ctx, answerLine(s.answers[i]))
	}
	waits, stop := context.WithCancel(ctx)
	var answer *a2a.Message
	var failed error
	there := make(chan struct{})
	go func() {
		defer close(there)
		if l.kind == "ask" {
			answer, failed = s.t.AskParts(waits, l.parts...)
		} else {
			answer, failed = s.t.AuthenticateParts(waits, l.parts...)
		}
	}()
	defer func() {
		stop()
		<-there
	}()

	s.suspend()
	s.placed = false
	s.c.places.Leave()
	s.c.rests(s)
	err := s.waitFor(ctx, there)
	if err == nil && failed == nil {
		err = s.enter(ctx)
	}
	s.c.works(s)
	if err == errEvicted {
		s.log.Info("command is ended while it waits for an answer, to make room; it runs again from the top when the answer comes")
		s.yield()
		<-there // or ctx has ended
	} else if err != nil {
		return err
	}
	if failed != nil {
		return s.emitted(line, failed)
	}
	s.answers = append(s.answers, answer)
	if err == errEvicted {
		return errAgain
	}
	s.resume()
	return s.send(ctx, answerLine(answer))
}

// enter waits for a place, with a process that may have to make room meanwhile.
func (s *session) enter(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	watch := sync.WaitGroup{}
	watch.Go(func() {
		select {
		case <-s.evict:
			stop(errEvicted)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer stop(nil)
	err := s.c.places.Enter(ctx)
	s.placed = err == nil
	return err
}

// waitFor returns nil when the answer is there, or what next says before.
func (s *session) waitFor(ctx context.Context, there <-chan struct{}) error {
	s.asking = true
	for {
		line, err := s.next(ctx, there)
		if err == errOther {
			s.asking = false
			return nil
		}
		if err != nil {
			return err
		}
		l, err := s.read(line)
		switch {
		case err != nil:
			return err
		case l == nil:
		case l.kind != "log":
			return s.bad(line, "a line of type "+l.kind+" must not come while a question is open", nil)
		default:
			s.logged(ctx, l)
		}
	}
}

// yield ends the process of a session that goes on without it.
func (s *session) yield() {
	reason := ""
	if s.c.opts.keeps() > 0 { // a program that serves one message may take any line for its answer
		reason = "waiting"
	}
	s.cancel(reason)
	s.p = nil
}

// rests counts a session among those that wait with a process. Of these there are as
// many as may be at work; beyond it who has waited longest has to go.
func (c *command) rests(s *session) {
	s.evict = make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= c.opts.concurrency() {
		close(c.waiting[0].evict)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
	c.waiting = append(c.waiting, s)
}

// works is the end of rests.
func (c *command) works(s *session) {
	c.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(w *session) bool { return w == s })
	c.mu.Unlock()
	s.evict = nil
}

func answerLine(m *a2a.Message) *told {
	words, _ := program.Text(m, false)
	return &told{Type: "answer", Text: &words, Message: m}
}
