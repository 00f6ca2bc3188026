package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// Where the store is shared a task may be at work in another process. Its readers
// here share what one of them reads: the topic's tail then has the newest entries
// that were read, rather than those that an owner published. A hint, or the one
// poll for all such tasks, says that there may be more; then one reader asks, and
// the others wait for what it finds.

// remote is what a topic knows of what other processes do to its task.
type remote struct {
	hash uint64 // by which hints name the task; set at start, then constant
	twin *topic // the next one of this hash; protected by Engine.mu

	// protected by topic.mu
	aloft bool  // the owner here has an append under way that others may see before it is published
	heard int64 // counts what was heard of others

	// of a task that nobody here owns; protected by topic.mu
	stale   bool          // the log may go beyond the tail
	row     *store.Row    // nil: it may have changed since it was read
	gone    bool          // there is no such task, as far as is known
	reading chan struct{} // closed when the read under way is over; nil: none is
	born    time.Time     // Row.Created; zero: not known
}

// contested reports whether other processes may go on with t's task.
func (t *topic) contested() bool { return t.remote != nil }

// adopted notes that the task has an owner here, and nothing of it is under way.
func (r *remote) adopted() {
	if r != nil {
		r.aloft, r.row, r.gone = false, nil, false
		r.heard++
	}
}

// appends notes whether the owner has an append under way.
func (r *remote) appends(is bool) {
	if r != nil {
		r.aloft = is
	}
}

// soon is a channel that is closed: what is waited for may be there.
var soon = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// remotePage is how many entries are read at a time.
const remotePage = 512

// afar returns the entries behind a cursor of a task that nobody here owns, or
// else a channel that is closed when there may be some, or somebody owns it.
func (e *Engine) remoteEntries(ctx context.Context, t *topic, cursor int64) ([]sized, <-chan struct{}, error) {
	for {
		t.mu.Lock()
		if t.detached || t.task != nil && t.last-cursor <= int64(len(t.tail)) {
			t.mu.Unlock()
			return nil, soon, nil // the tail has it; otherwise what is older is read below
		}
		if cursor > t.last {
			// The reader began with more than was read for others.
			if len(t.tail) == 0 {
				t.last = cursor
			}
			t.remote.stale = true
		}
		switch behind := t.last - cursor; {
		case behind > int64(len(t.tail)):
			t.mu.Unlock()
			entries, err := e.behind(ctx, t.key, cursor)
			if err = e.outlast(ctx, err); err != nil {
				return nil, nil, err
			}
			return t.published(entries), soon, nil
		case behind > 0:
			entries := t.tail[int64(len(t.tail))-behind:]
			t.eventsLocked()
			t.mu.Unlock()
			return entries, nil, nil
		case !t.remote.stale:
			gone, lost, changed := t.remote.gone, t.lost, t.changed.wait()
			t.mu.Unlock()
			if gone && e.read.Deleted(ctx, t.key) {
				lost = stored.NotFound(t.key.ID)
			}
			return nil, changed, lost
		}
		if !t.turnLocked(ctx, e) {
			if err := context.Cause(ctx); err != nil {
				return nil, nil, err
			}
			if e.stopping() {
				return nil, soon, nil
			}
			continue
		}
		t.remote.stale = false
		from := t.last
		t.mu.Unlock()
		entries, more, bad := e.readRemote(ctx, t.key, from)
		err := e.outlast(ctx, bad)
		t.mu.Lock()
		switch {
		case bad != nil:
			t.remote.stale = true
			t.wakeLocked()
		case t.task == nil && !t.detached && t.last == from:
			if t.addLocked(entries, more); len(entries) == 0 && cursor > from {
				t.tail, t.bytes, t.last = nil, 0, cursor // the task was deleted
			}
		}
		t.overLocked()
		t.mu.Unlock()
		if bad != nil {
			return nil, soon, err
		}
	}
}

// turnLocked waits for the read under way, and returns false then, without the
// lock. If there is none it is the caller's turn, until overLocked.
func (t *topic) turnLocked(ctx context.Context, e *Engine) bool {
	reading := t.remote.reading
	if reading == nil {
		t.remote.reading = make(chan struct{})
		return true
	}
	t.mu.Unlock()
	select {
	case <-reading:
	case <-ctx.Done():
	case <-e.draining:
	}
	return false
}

func (t *topic) overLocked() {
	close(t.remote.reading)
	t.remote.reading = nil
}

// readRemote reads the next entries of a log with their stored bodies. more says that
// there may be more of them.
func (e *Engine) readRemote(ctx context.Context, k store.Key, after int64) (out []sized, more bool, err error) {
	raw, err := e.store.Entries(ctx, k, after, remotePage)
	if err != nil {
		return nil, false, stored.Failed(err, "read task "+k.ID)
	}
	more = store.Full(raw, remotePage)
	apart := 0 // bytes of content that is stored apart
	for i := range raw {
		if apart >= store.PageBytes {
			return out, true, nil // what all readers share is of one page, too
		}
		r := &raw[i]
		en, err := a2a.DecodeEntry(r.Seq, r.Time, a2a.EntryKind(r.Kind), r.Body)
		if err != nil {
			return nil, false, stored.Failed(err, "read task "+k.ID)
		}
		next := sized{Entry: en, size: len(r.Body)}
		if !stored.Refers(r.Body) { // it is what streams show
			next.body = r.Body
		} else if err := e.read.RestoreEntry(ctx, en, nil); err != nil {
			return nil, false, e.read.Unread(ctx, err, k)
		} else {
			for _, p := range stored.PartsOf(en) {
				apart += len(p.Raw)
				next.size += len(p.Raw)
			}
		}
		out = append(out, next)
	}
	return out, more, nil
}

// addLocked adds what was read behind the tail. more says that there may be more.
func (t *topic) addLocked(entries []sized, more bool) {
	if more { // or a hint came while it was read: that stays
		t.remote.stale = true
	}
	if len(entries) == 0 {
		return
	}
	t.tail = slices.Grow(t.tail, len(entries))
	for _, en := range entries {
		// What earlier releases wrote has no generation: each reader stamps it.
		en.ready = en.Kind == a2a.EntryStatus && en.Status.Generation == 0 || en.Kind == a2a.EntryArtifact && en.Artifact.Generation == 0
		if en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal() {
			t.ended = en.Seq
		}
		t.tail = append(t.tail, en)
		t.bytes += en.size
	}
	t.last = entries[len(entries)-1].Seq
	t.trimLocked()
	t.wakeLocked() // those who came meanwhile, and found nothing
}

// rowRemote returns the row of a task that nobody here owns, as it was when it was
// last heard of.
func (e *Engine) rowRemote(ctx context.Context, t *topic) (*store.Row, error) {
	for {
		t.mu.Lock()
		if r := t.remote.row; r != nil {
			t.mu.Unlock()
			return r, nil
		}
		if !t.turnLocked(ctx, e) {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if e.stopping() {
				return nil, stored.Stopping()
			}
			continue
		}
		heard := t.remote.heard
		t.mu.Unlock()
		rec, bad := e.store.Get(ctx, t.key, store.RowOnly)
		if bad != nil {
			bad = e.read.Unread(ctx, bad, t.key)
		}
		err := e.outlast(ctx, bad)
		t.mu.Lock()
		if bad == nil && heard == t.remote.heard && t.task == nil {
			t.remote.row = &rec.Row
		}
		t.overLocked()
		t.mu.Unlock()
		switch {
		case bad == nil:
			return &rec.Row, nil
		case err != nil:
			return nil, err
		case e.stopping():
			return nil, stored.Stopping()
		}
	}
}

// unreachable reports whether a shared store failed because it is out of reach.
func (e *Engine) unreachable(err error) bool { return errors.Is(err, store.ErrUnreachable) }

// outlast waits where a read failed because a shared store is out of reach, until
// it is back, and returns nil: those who wait for news of a task wait on.
func (e *Engine) outlast(ctx context.Context, err error) error {
	if !e.unreachable(err) {
		return err
	}
	e.wrote(err) // so that it is tried until it works
	select {
	case <-e.health.ends():
	case <-e.draining:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pause(ctx, rand.N(100*time.Millisecond)) // not all at once
	return nil
}

// lasting repeats an agent's read that failed because a shared store is out of
// reach, when that is back: an outage that its writes outlast must not fail its
// task. If the outage is a long one the task is another process's, which ends ctx.
func (e *Engine) lasting(ctx context.Context, read func() error) error {
	for {
		bad := read()
		if err := e.outlast(ctx, bad); bad == nil || err != nil {
			return err
		}
		if e.stopping() {
			return stored.Stopping()
		}
	}
}

// staleLocked says that the task may have changed, to readers of what another
// process does to it.
func (t *topic) staleLocked() {
	if r := t.remote; r != nil {
		r.heard++
		r.stale, r.row = true, nil
	}
	t.wakeLocked()
}

// pollRemote asks the store for all tasks that are read here and at work elsewhere,
// every Options.Poll until ctx ends, and sooner for those that are in doubt.
func (e *Engine) pollRemote(ctx context.Context) {
	tick := time.NewTimer(e.opts.Poll)
	defer tick.Stop()
	for {
		var some []*topic
		select {
		case <-tick.C:
			some = e.remoteTopics()
			tick.Reset(e.opts.Poll)
		case <-e.peers.doubted:
			e.mu.Lock()
			some, e.peers.doubts = e.peers.doubts, nil
			e.mu.Unlock()
		case <-ctx.Done():
			return
		}
		for chunk := range slices.Chunk(some, rowsAtOnce) {
			if err := e.compare(ctx, chunk); err != nil {
				break // who reads finds out, and the next one is due soon
			}
		}
	}
}

// remoteTopics returns the topics with readers whose tasks others may go on with.
func (e *Engine) remoteTopics() (some []*topic) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.topics {
		if t.remoteLocked() {
			some = append(some, t)
		}
	}
	return some
}

// remoteLocked reports whether readers of t have to hear what others do. Engine.mu is
// held.
func (t *topic) remoteLocked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.task == nil || t.refs > 1 && t.owner != nil && t.task.Status.State.Interrupted()
}

// compare wakes the readers of those tasks that changed.
func (e *Engine) compare(ctx context.Context, some []*topic) error {
	keys := make([]store.Key, len(some))
	heard := make([]int64, len(some))
	for i, t := range some {
		keys[i] = t.key
		t.mu.Lock()
		heard[i] = t.remote.heard
		t.mu.Unlock()
	}
	rows, err := e.rows(ctx, keys)
	if err != nil {
		return err
	}
	for i, t := range some {
		row, ok := rows[t.key]
		t.mu.Lock()
		o, again := t.owner, false
		switch {
		case t.detached || heard[i] != t.remote.heard: // somebody looks anyway
			o = nil
		case t.task != nil:
		case !ok:
			if o = nil; !t.remote.gone {
				t.remote.gone = true
				t.staleLocked()
			}
		default:
			o = nil
			again = !t.remote.born.IsZero() && !t.remote.born.Equal(row.Created)
			t.remote.born = row.Created
			t.seenLocked(&row)
		}
		t.mu.Unlock()
		if again {
			e.detach(t) // another one of the same id
		}
		if o != nil && ok && o.ready.was() && !o.has(&row) {
			e.evict(o)
		}
	}
	return nil
}

// detach sends the readers of a task away that is gone, see topic.detach.
func (e *Engine) detach(t *topic) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.topics[t.key] == t && e.owners[t.key] == nil {
		e.dropLocked(t)
		t.detach()
	}
}

// seenLocked compares a row with what readers have seen.
func (t *topic) seenLocked(row *store.Row) {
	was := t.remote.row
	t.remote.gone = false
	switch {
	case t.last > 0 && row.Last > t.last && !t.remote.stale,
		was != nil && (was.Last != row.Last || was.Epoch != row.Epoch || was.Node != row.Node || was.State != row.State):
		t.staleLocked()
	}
	t.remote.row = row
}
