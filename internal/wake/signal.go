package wake

import "sync"

// Most tasks are over before anybody waits for anything of them. So what can be
// waited for is made when somebody does: a channel costs an allocation.

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

// Was reports whether the signal was given. The reader then sees everything
// done before.
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

// Bell wakes who waits for the next time that it rings. The zero value is ready;
// whoever has one protects it.
type Bell struct{ c chan struct{} }

// Ring wakes who waits.
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
