package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// take returns a process for a session: a kept one that is intact, or a new one.
func (c *command) take(ctx context.Context, s *session, f *folders) (p *process, reused bool, err error) {
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n > 0 {
			p, c.idle = c.idle[n-1], c.idle[:n-1]
		}
		c.mu.Unlock()
		if n == 0 {
			env := c.environ()
			if c.opts.keeps() == 0 {
				env = append(env, about(s.t, s.attempt(), f)...)
			}
			p, err = c.start(ctx, env, s.log)
			return p, false, err
		}
		select {
		case <-p.Exited: // it ended while idle
			s.log.Warn("a process that was kept has ended; another takes its place", "error", p.Cause)
			close(p.input)
			p.close()
		default:
			p.serves(s.log)
			return p, true, nil
		}
	}
}

// put keeps an intact process for the next message, if there is room.
func (c *command) put(p *process, whole bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !whole || c.closed || len(c.idle) >= c.opts.keeps() {
		return false
	}
	p.serves(c.opts.logger().With("command", c.name()))
	c.idle = append(c.idle, p)
	return true
}

// Close ends the processes that wait for messages and removes folders. It is called
// after the last Run has ended.
func (c *command) Close() error {
	c.mu.Lock()
	c.closed = true
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range idle {
		all.Go(func() {
			close(p.input) // which tells it that there is no more work
			p.wind(c.opts.grace()/2, c.opts.grace()/2, c.linger)
		})
	}
	all.Wait()
	return c.room.close()
}

// hangUp closes the input of the process.
func (s *session) hangUp() {
	if !s.hungUp {
		s.hungUp = true
		close(s.p.input)
	}
}

// cancel tells the process to stop, with a line if there is a reason that it may know.
// It then keeps the process or ends it.
func (s *session) cancel(reason string) {
	grace := s.c.opts.grace()
	polite := min(time.Second, grace/2)
	if reason == "" {
		polite = 0
	} else if line, err := (&told{Type: "cancel", Task: s.task, Reason: reason}).encode(); err == nil {
		select {
		case s.p.input <- line:
		case <-s.p.Exited:
		case <-time.After(polite): // it has not read the lines before
			polite = 0
		}
	}
	if polite > 0 && s.c.opts.keeps() > 0 && s.settles(polite) && s.c.put(s.p, true) {
		return
	}
	s.hangUp()
	s.p.wind(polite, grace-polite, s.c.linger)
}

// settles reports whether a kept process ends the task by itself within the given time.
// Its output is dropped.
func (s *session) settles(within time.Duration) bool {
	ctx, stop := context.WithTimeout(context.Background(), within)
	defer stop()
	s.slow.Stop()
	for {
		line, err := s.next(ctx, nil)
		if err != nil {
			return false
		}
		l, err := decodeSaid(line)
		switch {
		case err != nil:
			return false
		case l.ends() && l.task == s.task:
			return s.exited != nil && s.pieces != nil
		}
	}
}

// stepDone is the error that ends a step when the process reports its result.
type stepDone struct{ result a2a.JSON }

func (*stepDone) Error() string { return "agent: the step is done" }

// step tells the process whether a step was done, and records its result if not.
func (s *session) step(ctx context.Context, line []byte, l *said) error {
	i := s.stepped
	s.stepped++
	done, not := true, false
	if i < len(s.steps) {
		if s.steps[i].name != l.name {
			return s.bad(line, "another step was recorded here: steps have to come in the same order on every run", nil)
		}
		return s.send(ctx, &told{Type: "step", Name: l.name, Done: &done, Result: s.steps[i].result})
	}
	ran := false
	result, err := s.t.host.Step(ctx, l.name, func(ctx context.Context) (a2a.JSON, error) {
		ran, s.stepping = true, true
		defer func() { s.stepping = false }()
		if err := s.send(ctx, &told{Type: "step", Name: l.name, Done: &not}); err != nil {
			return nil, err
		}
		for {
			line, err := s.next(ctx, nil)
			if err != nil {
				return nil, err
			}
			err = s.handle(ctx, line)
			if end, ok := errors.AsType[*stepDone](err); ok {
				return end.result, nil
			}
			if err != nil {
				return nil, err
			}
		}
	})
	switch {
	case err != nil && !ran:
		return s.bad(line, "another step was recorded here: steps have to come in the same order on every run", err)
	case err != nil:
		s.undone = true
		return err
	}
	s.steps = append(s.steps, outcome{l.name, result})
	if ran {
		return nil
	}
	return s.send(ctx, &told{Type: "step", Name: l.name, Done: &done, Result: result})
}
