package queue

import (
	"context"
	"slices"
	"sync"
)

// Fair is a number of places. Keys get them in turn, and callers of one key first come, first
// served. So a key that comes a thousand times delays others no longer than one that comes
// once. It is safe for concurrent use.
type Fair[K comparable] struct {
	mu    sync.Mutex            // protects the fields below
	free  int                   // below zero after Return
	order []K                   // keys that wait, the next one first
	lines map[K][]chan struct{} // by key; closed when the place is theirs
}

// NewFair returns a Fair with n places.
func NewFair[K comparable](n int) *Fair[K] {
	return &Fair[K]{free: n, lines: map[K][]chan struct{}{}}
}

// Enter returns when there is a place, which Leave gives back, or with ctx's cause.
func (q *Fair[K]) Enter(ctx context.Context, k K) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.mu.Lock()
	if q.free > 0 { // then none waits
		q.free--
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(q.lines[k]) == 0 {
		q.order = append(q.order, k)
	}
	q.lines[k] = append(q.lines[k], turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.lines[k], turn); i >= 0 {
		q.lines[k] = slices.Delete(q.lines[k], i, i+1)
		if len(q.lines[k]) == 0 {
			delete(q.lines, k)
			at := slices.Index(q.order, k)
			q.order = slices.Delete(q.order, at, at+1)
		}
	} else {
		q.leaveLocked() // the place came at the last moment
	}
	return context.Cause(ctx)
}

// Leave gives the caller's place to the key whose turn it is.
func (q *Fair[K]) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leaveLocked()
}

// Return takes back, without waiting, a place that its caller left for a while, because callers
// that have places may wait for it. If no place is free, there are more callers than places
// until enough have left.
func (q *Fair[K]) Return() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free--
}

func (q *Fair[K]) leaveLocked() {
	if len(q.order) == 0 || q.free < 0 {
		q.free++
		return
	}
	k := q.order[0]
	q.order = q.order[1:]
	line := q.lines[k]
	close(line[0])
	if line = line[1:]; len(line) == 0 {
		delete(q.lines, k)
		return
	}
	q.lines[k] = line
	q.order = append(q.order, k)
}

// Waiting returns how many callers wait.
func (q *Fair[K]) Waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range q.lines {
		n += len(line)
	}
	return n
}
