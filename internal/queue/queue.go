// Package queue lets so many in at a time, first come, first served: the runs of an
// agent that may be at work at once.
package queue

import (
	"context"
	"slices"
	"sync"
)

// Queue is a number of places. It is safe for concurrent use.
type Queue struct {
	mu      sync.Mutex // protects the fields below
	free    int
	waiting []chan struct{} // closed when the place is theirs
}

// New returns a queue with n places.
func New(n int) *Queue { return &Queue{free: n} }

// Enter returns when there is a place, which Leave gives back, or with ctx's cause.
func (q *Queue) Enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.mu.Lock()
	if q.free > 0 { // nobody waits then
		q.free--
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, turn); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else {
		q.leaveLocked() // the place came in this moment
	}
	return context.Cause(ctx)
}

// Leave gives the place to who has waited longest.
func (q *Queue) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leaveLocked()
}

func (q *Queue) leaveLocked() {
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	close(q.waiting[0])
	q.waiting = slices.Delete(q.waiting, 0, 1)
}

// Waiting is how many wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
