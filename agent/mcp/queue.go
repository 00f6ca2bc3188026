package mcp

import (
	"context"
	"slices"
	"sync"
)

// queue lets so many in at a time; who has to wait gets in in the order of coming.
type queue struct {
	mu      sync.Mutex // protects the fields below
	free    int
	waiting []chan struct{} // closed when the place is theirs
}

// enter returns when there is a place, or with ctx's cause.
func (q *queue) enter(ctx context.Context) error {
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
		q.leaveLocked() // it came in this moment
	}
	return context.Cause(ctx)
}

// leave gives the place to who has waited longest.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leaveLocked()
}

func (q *queue) leaveLocked() {
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	close(q.waiting[0])
	q.waiting = slices.Delete(q.waiting, 0, 1)
}
