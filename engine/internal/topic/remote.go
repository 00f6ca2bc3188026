package topic

import (
	"context"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// If the store is shared, a task may be at work in another process. Its readers here share what
// one of them reads: the topic's tail then has the newest entries that were read, instead of
// those that an owner published. A hint, or the one poll for all such tasks, says that there
// may be more; then one reader asks, and the others wait for what it finds.

// Peers tells topics what other processes do to their tasks. Protected by the lock of the
// topics, except for doubted.
type Peers struct {
	ts      *Topics
	often   time.Duration        // time between two polls
	owned   func(store.Key) bool // reports whether a task has an owner here; the lock is held
	topics  map[uint64][]*Topic  // by hash of the key
	doubts  []*Topic             // topics whose owner may have lost its task
	doubted chan struct{}        // capacity one: there are doubts
}

// NewPeers makes readers of ts learn what other processes do: see Peers.HearOf, and Peers.Poll,
// which polls at intervals of often. owned is called with the lock of ts held.
func NewPeers(ts *Topics, often time.Duration, owned func(store.Key) bool) *Peers {
	p := &Peers{ts: ts, often: often, owned: owned, topics: map[uint64][]*Topic{}, doubted: make(chan struct{}, 1)}
	ts.others = p
	return p
}

func (p *Peers) every() time.Duration { return p.often }

// joined makes hints reach a new topic.
func (p *Peers) joined(t *Topic) {
	t.remote = &remote{stale: true} // nothing of it was read
	hash := t.Key.Hash()
	p.topics[hash] = append(p.topics[hash], t)
}

// left forgets a topic.
func (p *Peers) left(t *Topic) {
	hash := t.Key.Hash()
	p.topics[hash] = slices.DeleteFunc(p.topics[hash], func(other *Topic) bool { return other == t })
	if len(p.topics[hash]) == 0 {
		delete(p.topics, hash)
	}
}

// remote has what a topic knows of other processes' work on its task.
type remote struct {
	// protected by Topic.mu
	aloft bool  // the owner here has an append under way that others may see before it is published
	open  bool  // the owner here left the task in the store, for any process to draw
	heard int64 // counts news of other processes

	// of a task without an owner here; protected by Topic.mu
	stale   bool          // the log may go beyond the tail
	row     *store.Row    // nil: it may have changed since it was read
	gone    bool          // the task does not exist, as far as is known
	reading chan struct{} // closed when the read under way is over; nil: none is
	born    time.Time     // Row.Created; zero: not known
}

// Contested reports whether other processes may go on with t's task.
func (t *Topic) Contested() bool { return t.remote != nil }

// ahead reports whether other processes may see more of the task than was published here.
func (r *remote) ahead() bool { return r != nil && r.aloft }

// finalLocked reports whether nothing can change any more: the task is finished, and no other
// process may reopen it.
func (t *Topic) finalLocked() bool {
	return t.task.Status.State.Terminal() && (t.remote == nil || !t.task.Version.Reopens())
}

// Fly notes that an append is under way.
func (t *Topic) Fly() {
	if t.remote == nil { // then no lock is needed for each append
		return
	}
	t.mu.Lock()
	t.remote.appends(true)
	t.mu.Unlock()
}

// Open notes that any process may go on with the task, as if it waited for its client.
func (t *Topic) Open() {
	if t.remote == nil {
		return
	}
	t.mu.Lock()
	t.remote.open = true
	t.mu.Unlock()
}

// openLocked reports whether other processes may go on at any time with the task that t holds.
func (t *Topic) openLocked() bool {
	return t.remote != nil && t.task != nil && (t.remote.open || t.task.Status.State.Interrupted())
}

// adopted notes that the task has an owner here, without an append under way.
func (r *remote) adopted() {
	if r != nil {
		r.aloft, r.open, r.row, r.gone = false, false, nil, false
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

func (p *Peers) entries(ctx context.Context, t *Topic, cursor int64) ([]Entry, <-chan struct{}, error) {
	for {
		t.mu.Lock()
		if t.detached || t.task != nil && t.last-cursor <= int64(len(t.tail)) {
			t.mu.Unlock()
			return nil, soon, nil // the tail has the entries; older ones are read below
		}
		if cursor > t.last {
			// The reader began beyond what was read for others.
			if len(t.tail) == 0 {
				t.last = cursor
			}
			t.remote.stale = true
		}
		switch behind := t.last - cursor; {
		case behind > int64(len(t.tail)):
			t.mu.Unlock()
			entries, err := p.ts.behind(ctx, t.Key, cursor)
			if err = p.ts.outlast(ctx, err); err != nil {
				return nil, nil, err
			}
			return t.published(entries), soon, nil
		case behind > 0:
			entries := t.tail[int64(len(t.tail))-behind:]
			t.eventsLocked()
			t.mu.Unlock()
			return entries, nil, nil
		case !t.remote.stale:
			gone, lost, changed := t.remote.gone, t.lost, t.changed.Wait()
			t.mu.Unlock()
			if gone && p.ts.read.Deleted(ctx, t.Key) {
				lost = stored.NotFound(t.Key.ID)
			}
			return nil, changed, lost
		}
		if !t.turnLocked(ctx, p.ts) {
			if err := context.Cause(ctx); err != nil {
				return nil, nil, err
			}
			if p.ts.stopping() {
				return nil, soon, nil
			}
			continue
		}
		t.remote.stale = false
		from := t.last
		t.mu.Unlock()
		entries, more, bad := p.readRemote(ctx, t.Key, from)
		err := p.ts.outlast(ctx, bad)
		t.mu.Lock()
		switch {
		case bad != nil:
			t.remote.stale = true
			t.changed.Ring()
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

// turnLocked returns true if no read is under way: then it is the caller's turn, until
// overLocked. Otherwise it waits for that read and returns false, without the lock.
func (t *Topic) turnLocked(ctx context.Context, ts *Topics) bool {
	reading := t.remote.reading
	if reading == nil {
		t.remote.reading = make(chan struct{})
		return true
	}
	t.mu.Unlock()
	select {
	case <-reading:
	case <-ctx.Done():
	case <-ts.draining:
	}
	return false
}

func (t *Topic) overLocked() {
	close(t.remote.reading)
	t.remote.reading = nil
}

// readRemote reads the next entries of a log with their stored bodies. more says that there may
// be others after them.
func (p *Peers) readRemote(ctx context.Context, k store.Key, after int64) (out []Entry, more bool, err error) {
	raw, err := p.ts.store.Entries(ctx, k, after, remotePage)
	if err != nil {
		return nil, false, stored.Failed(err, "read task "+k.ID)
	}
	more = store.Full(raw, remotePage)
	apart := 0 // bytes of content that is stored apart
	for i := range raw {
		if apart >= store.PageBytes {
			return out, true, nil // what all readers share is limited to a page, too
		}
		r := &raw[i]
		en, err := stored.Decode(r)
		if err != nil {
			return nil, false, stored.Failed(err, "read task "+k.ID)
		}
		next := Entry{Entry: en, Size: len(r.Body)}
		if !stored.Refers(r.Body) { // streams show the same
			next.Body = r.Body
		} else if err := p.ts.read.RestoreEntry(ctx, en); err != nil {
			return nil, false, p.ts.read.Unread(ctx, err, k)
		} else {
			for _, part := range stored.PartsOf(en) {
				apart += len(part.Raw)
				next.Size += len(part.Raw)
			}
		}
		out = append(out, next)
	}
	return out, more, nil
}

// addLocked adds entries that were read to the tail. more says that there may be others after
// them.
func (t *Topic) addLocked(entries []Entry, more bool) {
	if more { // stale may also be set by a hint during the read: that stays
		t.remote.stale = true
	}
	if len(entries) == 0 {
		return
	}
	t.tail = slices.Grow(t.tail, len(entries))
	for _, en := range entries {
		// Entries of earlier releases have no generation: each reader stamps them.
		en.ready = en.Kind == a2a.EntryStatus && en.Status.Generation == 0 || en.Kind == a2a.EntryArtifact && en.Artifact.Generation == 0
		if en.ends() {
			t.ended = en.Seq
		}
		t.tail = append(t.tail, en)
		t.bytes += en.Size
	}
	t.last = entries[len(entries)-1].Seq
	t.trimLocked()
	t.changed.Ring() // for readers that came meanwhile, and found nothing
}

// row returns the row of a task without an owner here, as of the last news of it.
func (p *Peers) row(ctx context.Context, t *Topic) (*store.Row, error) {
	for {
		t.mu.Lock()
		if r := t.remote.row; r != nil {
			t.mu.Unlock()
			return r, nil
		}
		if !t.turnLocked(ctx, p.ts) {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if p.ts.stopping() {
				return nil, stored.Stopping()
			}
			continue
		}
		heard := t.remote.heard
		t.mu.Unlock()
		rec, bad := p.ts.store.Get(ctx, t.Key, store.RowOnly)
		if bad != nil {
			bad = p.ts.read.Unread(ctx, bad, t.Key)
		}
		err := p.ts.outlast(ctx, bad)
		t.mu.Lock()
		if bad == nil && heard == t.remote.heard && t.task == nil && !t.detached { // a detached topic gets no more news
			t.remote.row = &rec.Row
		}
		t.overLocked()
		t.mu.Unlock()
		switch {
		case bad == nil:
			return &rec.Row, nil
		case err != nil:
			return nil, err
		case p.ts.stopping():
			return nil, stored.Stopping()
		}
	}
}

// staleLocked tells readers that another process may have changed the task.
func (t *Topic) staleLocked() {
	if r := t.remote; r != nil {
		r.heard++
		r.stale, r.row = true, nil
	}
	t.changed.Ring()
}

// Poll asks the store for all tasks that are read here and at work elsewhere, at intervals of
// p.often until ctx ends, and sooner for those that are in doubt.
func (p *Peers) Poll(ctx context.Context) {
	for tick := time.After(p.often); ; {
		var some []*Topic
		select {
		case <-tick:
			some, tick = p.remoteTopics(), time.After(p.often)
		case <-p.doubted:
			p.ts.Lock()
			some, p.doubts = p.doubts, nil
			p.ts.Unlock()
		case <-ctx.Done():
			return
		}
		for chunk := range slices.Chunk(some, RowsAtOnce) {
			if err := p.compare(ctx, chunk); err != nil {
				break // readers find out, and the next poll is due soon
			}
		}
	}
}

// remoteTopics returns the topics with readers whose tasks other processes may go on with.
func (p *Peers) remoteTopics() (some []*Topic) {
	p.ts.Lock()
	defer p.ts.Unlock()
	for _, t := range p.ts.m {
		if t.remoteLocked() {
			some = append(some, t)
		}
	}
	return some
}

// remoteLocked reports whether readers of t must be told what other processes do. The lock of
// the topics is held.
func (t *Topic) remoteLocked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.task == nil || t.refs > 1 && t.owner != nil && t.openLocked()
}

// compare wakes the readers of those tasks that changed, and evicts owners that lost theirs.
func (p *Peers) compare(ctx context.Context, some []*Topic) error {
	keys := make([]store.Key, len(some))
	heard := make([]int64, len(some))
	written := make([]bool, len(some))
	for i, t := range some {
		keys[i] = t.Key
		t.mu.Lock()
		heard[i], written[i] = t.remote.heard, t.last > 0
		t.mu.Unlock()
	}
	rows, err := Rows(ctx, p.ts.store, keys)
	if err != nil {
		return err
	}
	for i, t := range some {
		row, ok := rows[t.Key]
		t.mu.Lock()
		o, again := t.owner, false
		switch {
		case t.detached || heard[i] != t.remote.heard: // a reader looks anyway
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
			p.detach(t) // another task with the same id
		}
		if o != nil && o.Ready() && (ok && !o.Has(&row) || !ok && written[i]) { // another process took it over, or deleted it
			o.Evict()
		}
	}
	return nil
}

// detach sends the readers of a deleted task away, see Topic.detach.
func (p *Peers) detach(t *Topic) {
	p.ts.Lock()
	defer p.ts.Unlock()
	if p.ts.m[t.Key] == t && !p.owned(t.Key) {
		p.ts.DismissLocked(t.Key)
	}
}

// seenLocked compares a row with what readers have seen.
func (t *Topic) seenLocked(row *store.Row) {
	was := t.remote.row
	t.remote.gone = false
	switch {
	case t.last > 0 && row.Last > t.last && !t.remote.stale,
		was != nil && (was.Last != row.Last || was.Epoch != row.Epoch || was.Node != row.Node || was.State != row.State):
		t.staleLocked()
	}
	t.remote.row = row
}

// HearOf wakes the readers of a task whose log has grown, or of all tasks.
func (p *Peers) HearOf(hash uint64, all bool) {
	p.ts.Lock()
	defer p.ts.Unlock()
	if all {
		for _, t := range p.ts.m {
			p.hearOfLocked(t)
		}
		return
	}
	for _, t := range p.topics[hash] {
		p.hearOfLocked(t)
	}
}

// hearOfLocked also gets hints of this process's own appends, unless the store leaves them out.
func (p *Peers) hearOfLocked(t *Topic) {
	remote := t.remoteLocked()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !remote:
	case t.task == nil:
		t.staleLocked()
	case len(p.doubts) < RowsAtOnce: // otherwise the next poll finds it
		p.doubts = append(p.doubts, t)
		wake.Nudge(p.doubted)
	}
}

// Rows returns the rows of those tasks that exist.
func Rows(ctx context.Context, st store.Store, keys []store.Key) (map[store.Key]store.Row, error) {
	found, err := st.Rows(ctx, keys)
	if err != nil {
		return nil, err
	}
	rows := make(map[store.Key]store.Row, len(found))
	for _, r := range found {
		rows[r.Key] = r
	}
	return rows, nil
}

// RowsAtOnce is how many rows are asked for at a time.
const RowsAtOnce = 500
