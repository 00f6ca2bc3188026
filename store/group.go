package store

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Queue is the writer of a store: one goroutine that takes all waiting appends, commits them
// together, and reports the outcomes. There is no timer: while one commit runs, the next
// batch gathers, so a lone writer pays one commit and many writers share one.
//
// Drivers pass it a commit function and forward Store.Append and Close to it. A T is an
// append, or another write that the driver puts into the same commits.
type Queue[T any] struct {
	commit       func([]T) []error
	small, large *semaphore.Weighted // space in the queue, in bytes
	open         context.Context     // ends with Close
	close        context.CancelFunc

	mu    sync.Mutex // protects the fields below
	ready sync.Cond  // an item was queued, or closed
	queue []queued[T]

	stopped chan struct{} // closed when the goroutine has ended
}

type queued[T any] struct {
	item T
	of   *Key // the task; nil: none
	size int
	done func(error)
}

// Limits of one commit, so that a burst does not make all appends wait for one huge
// transaction, and limits of the queue. Large appends are committed in small groups, and
// small appends overtake them, so a small write does not wait for large ones.
const (
	maxGroup      = 1024
	maxGroupBytes = 1 << 20
	maxQueueSmall = 16 << 20 // of small appends
	maxQueueLarge = 24 << 20

	largeBytes    = 64 << 10  // an append above this size is large
	maxLargeBytes = 256 << 10 // of a commit when a large append is added to it
)

// NewQueue starts the writer, which Close stops. The writer calls commit from one goroutine
// at a time. commit must apply the items in order and return one error for each.
func NewQueue[T any](commit func([]T) []error) *Queue[T] {
	g := &Queue[T]{commit: commit, stopped: make(chan struct{})}
	g.small, g.large = semaphore.NewWeighted(maxQueueSmall), semaphore.NewWeighted(maxQueueLarge)
	g.open, g.close = context.WithCancel(context.Background())
	g.ready.L = &g.mu
	go g.run()
	return g
}

// Add queues an item of size bytes and calls done with the outcome. Items of one task are
// committed in the order in which they were added; if of is nil, the item belongs to no task.
// Add waits while the queue is full and while earlier items of its kind wait. An item of size
// 0 never waits, so commit may add such items. See Store.Append.
func (g *Queue[T]) Add(item T, of *Key, size int, done func(error)) {
	if space, bytes := g.space(size); bytes > 0 && space.Acquire(g.open, bytes) != nil {
		go done(ErrClosed) // never from the caller's goroutine, which may hold locks
		return
	}
	g.mu.Lock()
	if g.open.Err() != nil {
		g.mu.Unlock()
		go done(ErrClosed)
		return
	}
	g.queue = append(g.queue, queued[T]{item, of, size, done})
	g.mu.Unlock()
	g.ready.Signal()
}

// space returns the bytes that an item of a size takes in the queue, and where. An item that is
// larger than the queue takes all of it.
func (g *Queue[T]) space(size int) (of *semaphore.Weighted, bytes int64) {
	if size > largeBytes {
		return g.large, int64(min(size, maxQueueLarge))
	}
	return g.small, int64(size)
}

// Close commits the queued items and stops the writer. It may be called twice.
func (g *Queue[T]) Close() {
	g.mu.Lock()
	g.close()
	g.mu.Unlock()
	g.ready.Signal()
	<-g.stopped
}

func (g *Queue[T]) run() {
	defer close(g.stopped)
	var batch []queued[T]
	var items []T
	for {
		var ended bool
		if batch, ended = g.take(batch[:0]); ended {
			return
		}
		items = items[:0]
		for i := range batch {
			items = append(items, batch[i].item)
		}
		errs := g.commit(items)
		for i := range batch {
			batch[i].done(errs[i])
		}
		clear(batch)
		clear(items)
	}
}

// take waits for items and returns a batch that one commit may hold. ended means that the
// queue is closed and empty. Items of one task stay in the order in which they were queued.
func (g *Queue[T]) take(batch []queued[T]) (_ []queued[T], ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.queue) == 0 && g.open.Err() == nil {
		g.ready.Wait()
	}
	ended = len(g.queue) == 0
	var held map[Key]bool // tasks that have an item left in the queue
	bytes, kept := 0, g.queue[:0]
	for i, q := range g.queue {
		large := q.size > largeBytes
		fits := bytes+q.size <= maxGroupBytes && (!large || bytes+q.size <= maxLargeBytes)
		if len(batch) == maxGroup || len(batch) > 0 && !large && !fits {
			kept = append(kept, g.queue[i:]...)
			break
		}
		if q.of != nil && held[*q.of] || len(batch) > 0 && !fits {
			if held == nil {
				held = map[Key]bool{}
			}
			if q.of != nil {
				held[*q.of] = true
			}
			kept = append(kept, q)
			continue
		}
		batch = append(batch, q)
		bytes += q.size
		space, n := g.space(q.size)
		space.Release(n)
	}
	clear(g.queue[len(kept):])
	g.queue = kept
	return batch, ended
}

// Size estimates the size of an append in bytes.
func (a *Append) Size() int {
	n := 256
	for i := range a.Entries {
		n += 64 + len(a.Entries[i].Body)
	}
	if a.Seal != nil {
		n += len(a.Seal.Head) + len(a.Seal.Body)
	}
	for i := range a.Blobs {
		n += len(a.Blobs[i].Data)
	}
	for i := range a.Pushes {
		n += 256 + len(a.Pushes[i].Body)
	}
	for i := range a.Letters {
		n += 128 + len(a.Letters[i].Reason)
	}
	for i := range a.Receipts {
		r := &a.Receipts[i]
		n += 128 + len(r.Name) + len(r.Digest) + len(r.Answer)
	}
	return n
}

// Group is the Queue of a driver that commits only appends.
type Group struct{ queue *Queue[*Append] }

// NewGroup starts the writer. See NewQueue.
func NewGroup(commit func([]*Append) []error) *Group { return &Group{NewQueue(commit)} }

// Append queues a. See Store.Append.
func (g *Group) Append(a *Append, done func(error)) { g.queue.Add(a, &a.Row.Key, a.Size(), done) }

// Close commits the queued appends and stops the writer. It may be called twice.
func (g *Group) Close() { g.queue.Close() }
