package store

import "sync"

// Group is the writer of a store: one goroutine that takes all appends that
// wait, commits them together, and reports. There is no timer: while one
// commit runs, the next batch gathers, so a lone writer pays one commit and
// many writers share one.
//
// Drivers hand it a commit function and forward Store.Append and Close to it.
type Group struct {
	commit func([]*Append) []error

	mu     sync.Mutex // protects the fields below
	ready  sync.Cond  // something waits, or closed
	room   sync.Cond  // the queue got shorter
	queue  []queued
	bytes  int
	woken  bool // by Wake
	closed bool

	stopped chan struct{} // closed when the goroutine has ended
}

type queued struct {
	a    *Append
	size int
	done func(error)
}

// Limits of one commit, so that a burst does not make everybody wait for one
// huge transaction, and of the queue. Large appends go in small portions, and
// small ones overtake them: a small write does not wait for large ones.
const (
	maxGroup      = 1024
	maxGroupBytes = 4 << 20
	maxQueueBytes = 32 << 20

	largeBytes    = 64 << 10 // of an append, from which on it is large
	maxLargeBytes = 1 << 20  // of a commit to which a large one is added
)

// NewGroup starts the writer. commit is called by one goroutine at a time, must
// apply the appends in order, and returns one error for each; Close stops it.
// Without a call of Wake there is at least one append.
func NewGroup(commit func([]*Append) []error) *Group {
	g := &Group{commit: commit, stopped: make(chan struct{})}
	g.ready.L = &g.mu
	g.room.L = &g.mu
	go g.run()
	return g
}

// Append queues a. See Store.Append.
func (g *Group) Append(a *Append, done func(error)) {
	size := a.Size()
	g.mu.Lock()
	for !g.closed && g.bytes > 0 && g.bytes+size > maxQueueBytes {
		g.room.Wait()
	}
	if g.closed {
		g.mu.Unlock()
		go done(ErrClosed) // never from the caller's goroutine, it may hold locks
		return
	}
	g.queue = append(g.queue, queued{a, size, done})
	g.bytes += size
	g.mu.Unlock()
	g.ready.Signal()
}

// Wake has commit called soon, with no appends if none wait: the driver has something of
// its own to write.
func (g *Group) Wake() {
	g.mu.Lock()
	g.woken = true
	g.mu.Unlock()
	g.ready.Signal()
}

// Close commits what waits and stops the writer. It may be called twice.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.ready.Signal()
	g.room.Broadcast()
	<-g.stopped
}

func (g *Group) run() {
	defer close(g.stopped)
	var batch []queued
	var appends []*Append
	for {
		var ended bool
		if batch, ended = g.take(batch[:0]); ended {
			return
		}
		appends = appends[:0]
		for i := range batch {
			appends = append(appends, batch[i].a)
		}
		errs := g.commit(appends)
		for i := range batch {
			batch[i].done(errs[i])
		}
		clear(batch)
		clear(appends)
	}
}

// take waits for appends and returns what one commit may hold; ended means that it is
// closed, and nothing waits. Of one task, none goes before another that was queued
// before it.
func (g *Group) take(batch []queued) (_ []queued, ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.queue) == 0 && !g.woken && !g.closed {
		g.ready.Wait()
	}
	ended = len(g.queue) == 0 && !g.woken
	g.woken = false
	var held map[Key]bool // tasks of which something stays
	bytes, kept := 0, g.queue[:0]
	for i, q := range g.queue {
		large := q.size > largeBytes
		fits := bytes+q.size <= maxGroupBytes && (!large || bytes+q.size <= maxLargeBytes)
		if len(batch) == maxGroup || len(batch) > 0 && !large && !fits {
			kept = append(kept, g.queue[i:]...)
			break
		}
		if held[q.a.Row.Key] || len(batch) > 0 && !fits {
			if held == nil {
				held = map[Key]bool{}
			}
			held[q.a.Row.Key] = true
			kept = append(kept, q)
			continue
		}
		batch = append(batch, q)
		bytes += q.size
	}
	clear(g.queue[len(kept):])
	g.queue = kept
	g.bytes -= bytes
	g.room.Broadcast()
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
