package agent

import (
	"context"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/program"
)

// ask puts a question of the process to the client. The process occupies no slot while
// it waits. It may be ended until it has a slot again; then the run begins again from
// the top when the answer comes.
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
	resting := s.c.rests(ctx, s)
	err := s.waitFor(resting, there)
	if err == nil && failed == nil {
		err = s.c.places.Enter(resting)
		s.placed = err == nil
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

// waitFor returns nil when the answer is there, or an error of next before that.
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

// rests counts a session among those that wait with a process. Their number is limited
// to the number of runs at work. When it is exceeded, the session that has waited
// longest is evicted: the context that rests returned for it ends with errEvicted.
func (c *command) rests(ctx context.Context, s *session) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, s.evict = context.WithCancelCause(ctx)
	if len(c.waiting) >= c.opts.concurrency() {
		c.waiting[0].evict(errEvicted)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
	c.waiting = append(c.waiting, s)
	return ctx
}

// works undoes rests.
func (c *command) works(s *session) {
	c.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(w *session) bool { return w == s })
	c.mu.Unlock()
	s.evict(nil)
}

func answerLine(m *a2a.Message) *told {
	words, _ := program.Text(m, false)
	return &told{Type: "answer", Text: &words, Message: m}
}
