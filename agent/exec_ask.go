package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/program"
)

// errEvicted says that a process must end while its question is open, to make room.
var errEvicted = errors.New("agent: the process has waited longest for an answer")

// question is a question of a process that a client is asked. A goroutine waits for the
// answer.
type question struct {
	line   []byte // that put it
	stop   func() // ends the waiting
	there  chan struct{}
	answer *a2a.Message // this and err are set before there is closed
	err    error
}

// ask puts a question of the process to the client, and gives it the answer. If the
// process is evicted, the error is errEvicted, and the question stays open.
func (s *session) ask(ctx context.Context, l *said) error {
	i := s.asked
	s.asked++
	if i < len(s.answers) {
		return s.send(ctx, answerLine(s.answers[i]))
	}
	s.open = s.put(ctx, l)
	if err := s.rest(ctx); err != nil {
		if err != errEvicted {
			s.open.stop()
		}
		return err
	}
	q := s.open
	s.open = nil
	if err := s.answered(q); err != nil {
		return err
	}
	s.resume()
	return s.send(ctx, answerLine(q.answer))
}

func (s *session) put(ctx context.Context, l *said) *question {
	ctx, cancel := context.WithCancel(ctx)
	q := &question{line: l.line, there: make(chan struct{})}
	q.stop = func() {
		cancel()
		<-q.there
	}
	go func() {
		defer close(q.there)
		defer cancel()
		if l.kind == "ask" {
			q.answer, q.err = s.t.AskParts(ctx, l.parts...)
		} else {
			q.answer, q.err = s.t.AuthenticateParts(ctx, l.parts...)
		}
	}()
	return q
}

// answered waits until a question is answered, and keeps the answer for later runs.
func (s *session) answered(q *question) error {
	<-q.there
	if q.err != nil {
		return s.emitted(q.line, q.err)
	}
	s.answers = append(s.answers, q.answer)
	return nil
}

// rest waits with the process for the answer to the open question. The process occupies
// no slot meanwhile, and may be evicted until it has one again.
func (s *session) rest(ctx context.Context) error {
	s.suspend()
	s.placed = false
	s.c.places.Leave()
	ctx, wakes := s.c.rests(ctx)
	defer wakes()
	for {
		l, err := s.hear(ctx, s.open.there)
		switch {
		case err == errOther && s.open.err != nil:
			return nil
		case err == errOther:
			err := s.c.places.Enter(ctx)
			s.placed = err == nil
			return err
		case err != nil:
			return err
		case l.kind != "log":
			return s.bad(l.line, "a line of type "+l.kind+" must not come while a question is open", nil)
		}
		s.logged(ctx, l)
	}
}

// rests counts a process among those that wait for an answer, until wakes is called.
// Their number is limited to the number of runs at work. When it is exceeded, the
// process that has waited longest is evicted: the context that rests returned for it
// ends with errEvicted.
func (c *command) rests(ctx context.Context) (resting context.Context, wakes func()) {
	resting, evict := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= c.opts.concurrency() {
		(*c.waiting[0])(errEvicted)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
	c.waiting = append(c.waiting, &evict)
	return resting, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(other *context.CancelCauseFunc) bool { return other == &evict })
		evict(nil)
	}
}

// evicted ends the process, whose question is open. Another one begins the run again
// from the top when the answer is there.
func (s *session) evicted() error {
	s.log.Info("command is ended while it waits for an answer, to make room; it runs again from the top when the answer comes")
	reason := ""
	if s.c.opts.keeps() > 0 { // a program that serves one message may take any line for its answer
		reason = "waiting"
	}
	s.cancel(reason)
	if err := s.answered(s.open); err != nil { // also when ctx has ended
		return err
	}
	return errAgain
}

func answerLine(m *a2a.Message) *told {
	words, _ := program.Text(m, false)
	return &told{Type: "answer", Text: &words, Message: m}
}
