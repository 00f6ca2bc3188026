package engine

import (
	"context"
	"sync"
	"time"
)

// Most tasks are over before anybody waits for anything of them. So what can be
// waited for is made when somebody does: a channel costs an allocation, and a
// context that can be cancelled a place in its parent's list, too.

// signal is given once. The zero value is ready.
type signal struct {
	mu    sync.Mutex // protects the fields below
	given bool
	c     chan struct{} // closed with given; nil if nobody has waited
}

func (s *signal) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given {
		return
	}
	s.given = true
	if s.c != nil {
		close(s.c)
	}
}

// was reports whether the signal was given. What was done before is seen then.
func (s *signal) was() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// wait returns a channel that is closed when the signal is given.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
		if s.given {
			close(s.c)
		}
	}
	return s.c
}

// bell wakes who waits for the next time that it rings. The zero value is ready;
// whoever has one protects it.
type bell struct{ c chan struct{} }

func (b *bell) ring() {
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// wait returns a channel that is closed when the bell rings next.
func (b *bell) wait() <-chan struct{} {
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

// turnContext is the context of a turn, which ends with a cause. It is made of
// the standard library's once it is asked for anything, so that contexts which
// are derived from it, and context.Cause, find what they look for.
type turnContext struct {
	base context.Context // set at start, then constant

	mu     sync.Mutex // protects the fields below
	made   context.Context
	cancel context.CancelCauseFunc // set with made
	ended  bool                    // before it was made
	cause  error                   // set with ended
}

var _ context.Context = (*turnContext)(nil)

// end cancels the context. The first cause counts.
func (c *turnContext) end(cause error) {
	c.mu.Lock()
	cancel := c.cancel
	if cancel == nil && !c.ended {
		if c.base.Err() != nil {
			cause = context.Cause(c.base)
		}
		c.ended, c.cause = true, cause
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

func (c *turnContext) real() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		base := c.base
		if c.ended {
			base = context.WithoutCancel(base) // which may have ended since, with another cause
		}
		c.made, c.cancel = context.WithCancelCause(base)
		if c.ended {
			c.cancel(c.cause)
		}
	}
	return c.made
}

func (c *turnContext) Deadline() (deadline time.Time, ok bool) { return c.base.Deadline() }
func (c *turnContext) Done() <-chan struct{}                   { return c.real().Done() }
func (c *turnContext) Err() error                              { return c.real().Err() }
func (c *turnContext) Value(key any) any                       { return c.real().Value(key) }
