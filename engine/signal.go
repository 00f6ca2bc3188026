package engine

import "sync"

// Most tasks are over before anybody waits for anything of them. So what can be
// waited for is made when somebody does: a channel costs an allocation.

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
