package wake

import "sync"

// Most tasks are over before anything waits for them. So a channel, which costs an allocation,
// is made only when something waits.

// Signal is given once. The zero value is ready.
type Signal struct {
	mu    sync.Mutex // protects the fields below
	given bool
	c     chan struct{} // closed with given; nil if nobody has waited
}

// Give gives the signal, if it was not given yet.
func (s *Signal) Give() {
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

// Was reports whether the signal was given. If so, the caller sees everything that was done
// before.
func (s *Signal) Was() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// Wait returns a channel that is closed when the signal is given.
func (s *Signal) Wait() <-chan struct{} {
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

// Bell wakes those that wait for its next ring. The zero value is ready. It needs a lock of its
// user's.
type Bell struct{ c chan struct{} }

// Ring wakes those that wait.
func (b *Bell) Ring() {
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// Wait returns a channel that is closed when the bell rings next.
func (b *Bell) Wait() <-chan struct{} {
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}
