package agent

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// take returns a process for a session: a kept one that is intact, or a new one.
func (s *session) take(ctx context.Context) (err error) {
	c := s.c
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n > 0 {
			s.p, c.idle = c.idle[n-1], c.idle[:n-1]
		}
		c.mu.Unlock()
		switch {
		case n == 0:
			env := c.environ()
			if c.opts.keeps() == 0 {
				env = append(env, about(s.t, s.attempt(), s.f)...)
			}
			s.p, err = c.start(ctx, env, s.log)
			return err
		case !wake.Closed(s.p.Exited):
			s.p.serves(s.log)
			s.reused = true
			return nil
		}
		s.log.Warn("a process that was kept has ended; another takes its place", "error", s.p.Cause)
		s.p.close()
	}
}

// keep keeps the process for the next message, if it is intact and there is room.
func (s *session) keep() bool {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.pieces == nil || wake.Closed(s.p.Exited) || c.closed || len(c.idle) >= c.opts.keeps() {
		return false
	}
	s.p.serves(c.opts.logger().With("command", c.name()))
	c.idle = append(c.idle, s.p)
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
		all.Go(func() { p.hangUp(c.opts.grace()/2, c.opts.grace()/2) })
	}
	all.Wait()
	return c.room.close()
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
	if polite > 0 && s.c.opts.keeps() > 0 && s.settles(polite) && s.keep() {
		return
	}
	s.p.hangUp(polite, grace-polite)
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
			return true
		}
	}
}
