package topic

import (
	"context"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Topic is where the readers of one task meet its owner: it has the task as committed, the
// newest entries, and a hint that there is more. It exists while this process reads or owns the
// task.
type Topic struct {
	Key  store.Key
	refs int // protected by the lock of topics

	remote *remote // what other processes do to the task; nil: there are none; set at start, then constant

	mu       sync.Mutex // protects the fields below
	changed  wake.Bell
	owner    Owner     // the owner of task; nil if it has none here
	lost     error     // why the last owner gave the task up, if no other process has it
	task     *a2a.Task // fold of the log up to last; nil while the task has no owner here
	last     int64     // while task is set: seq of the last committed entry; otherwise of the last entry that was read for all readers
	tail     []Entry   // the newest entries, the last of them at last
	bytes    int       // in tail
	detached bool      // the task is about to be deleted: readers leave, because the store may get another task with its id
	ended    int64     // seq of the newest end that was seen; the task may have gone on since
}

// Entry is an entry with the size of its stored body, in bytes.
type Entry struct {
	*a2a.Entry
	Size  int
	apart bool                // it refers to content that was not read yet, see Topics.behind
	Body  []byte              // as it is stored, if streams show the same
	ready bool                // event is set, if streams show the entry: see eventsLocked
	event *a2a.StreamResponse // the event that all readers get
	Start **a2a.Task          // if set, Publish puts the task as of the entry there
}

// The tail serves readers that keep up; those further behind read from the
// store. It is cut to half when it outgrows either limit.
const (
	maxTail      = 4 << 10
	maxTailBytes = 1 << 20
)

// Adopt makes t hold the task as committed up to last, for its new owner.
func (t *Topic) Adopt(o Owner, task *a2a.Task, last int64) {
	t.mu.Lock()
	t.owner, t.lost = o, nil
	t.task, t.last, t.tail, t.bytes = task, last, nil, 0
	t.remote.adopted()
	t.changed.Ring() // for those that wait for news of other processes
	t.mu.Unlock()
}

// HandOver makes o the owner of a task that t holds already.
func (t *Topic) HandOver(o Owner) {
	t.mu.Lock()
	t.owner = o
	t.mu.Unlock()
}

// holding returns the task as committed, the seq of its last entry, its owner, and whether other
// processes may go on with it at any time, because it waits for its client or in the store. It
// returns a nil task if the store has to be asked: the task has no owner here, or another
// process may have shown the caller more of it than was published.
func (t *Topic) holding() (task *a2a.Task, last int64, o Owner, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.remote.ahead() {
		return nil, 0, nil, false
	}
	task, last = t.snapshotLocked()
	return task, last, t.owner, t.openLocked()
}

// unpublished returns the task as it was published, if the store has more of it, up to last,
// that only this process can have written: a later look must not show less than an earlier one.
func (t *Topic) unpublished(last int64) (*a2a.Task, int64) {
	if task, known := t.Snapshot(); task != nil && known > 0 && known < last && t.remote == nil {
		return task, known
	}
	return nil, 0
}

// Publish adds entries that o committed and wakes the readers. behind, if not nil, is the task
// after them, which becomes t's; then no entry has a Start. Publish returns false if the task is
// no longer o's: see Owner.Evict.
func (t *Topic) Publish(o Owner, entries []Entry, behind *a2a.Task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owner != o {
		return false
	}
	t.remote.appends(false)
	if behind != nil {
		t.task = behind
	}
	t.tail = slices.Grow(t.tail, len(entries))
	for _, en := range entries {
		if behind == nil {
			t.task.Apply(en.Entry)
		}
		t.last = en.Seq
		if en.ends() {
			t.ended = en.Seq
		}
		if en.Start != nil {
			*en.Start, en.Start = t.task.Snapshot(), nil
		}
		t.tail = append(t.tail, en)
		t.bytes += en.Size
	}
	t.trimLocked()
	t.changed.Ring()
	return true
}

// TailBytes returns how many bytes the tail holds besides the task.
func (t *Topic) TailBytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(t.bytes)
}

// trimLocked shortens a tail that is too long. It copies what stays, because readers hold
// slices of the old tail.
func (t *Topic) trimLocked() {
	if len(t.tail) <= maxTail && t.bytes <= maxTailBytes {
		return
	}
	keep := len(t.tail) - 1 // the newest stays, even if it is large: all readers that wait for it share it
	bytes := t.tail[keep].Size
	for keep > 0 && len(t.tail)-keep < maxTail/2 && bytes+t.tail[keep-1].Size <= maxTailBytes/2 {
		keep--
		bytes += t.tail[keep].Size
	}
	t.tail = append([]Entry(nil), t.tail[keep:]...)
	t.bytes = bytes
}

// Release ends an ownership: from now on the store is asked. A finished task stays if it cannot
// change any more: its protocol version does not reopen tasks, or no other process could reopen
// it. If the owner that leaves has a successor already, the successor's task stays.
func (t *Topic) Release(o Owner, lost error) {
	t.mu.Lock()
	if t.owner == o {
		t.owner, t.lost = nil, lost
		t.remote.appends(false)
		if t.task != nil && !t.finalLocked() {
			t.task, t.last, t.tail, t.bytes = nil, 0, nil, 0
			t.staleLocked()
		}
	}
	t.changed.Ring()
	t.mu.Unlock()
}

// Snapshot returns the task as committed and the seq of its last entry, or nil if it has no
// owner here.
func (t *Topic) Snapshot() (*a2a.Task, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.snapshotLocked()
}

func (t *Topic) snapshotLocked() (*a2a.Task, int64) {
	if t.task == nil {
		return nil, 0
	}
	return t.task.Snapshot(), t.last
}

// glance is the state of a topic for callers that wait.
type glance struct {
	state      a2a.TaskState
	generation int64
	last       int64 // seq of the last committed entry
	ended      int64 // see Topic
	known      bool  // state, generation and last are known; otherwise the store has to be asked
	lost       error // see Topic
	detached   bool  // see Topic
	changed    <-chan struct{}
}

// watch returns the task as committed, at a glance, with a channel that is
// closed when it may have changed.
func (t *Topic) watch() glance {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.lookLocked()
	g.changed = t.changed.Wait()
	return g
}

// look is watch without waiting.
func (t *Topic) look() glance {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lookLocked()
}

func (t *Topic) lookLocked() glance {
	g := glance{ended: t.ended, lost: t.lost, detached: t.detached}
	if t.task != nil {
		g.state, g.generation, g.last, g.known = t.task.Status.State, t.task.Generation, t.last, true
	}
	return g
}

// NewestEnd returns the seq of the newest end that was seen here, or 0.
func (t *Topic) NewestEnd() int64 { return t.look().ended }

// endBehind returns where the task first ended after the seq after, given that it did by ended.
// It returns 0 if only the log can tell: in some protocol versions a task goes on after its
// end, so it may have ended more than once.
func (t *Topic) endBehind(after, ended int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.task == nil {
		return 0
	}
	if !t.task.Version.Reopens() {
		return ended
	}
	if len(t.tail) == 0 || t.tail[0].Seq > after+1 {
		return 0
	}
	for _, en := range t.tail {
		if en.Seq > after && en.ends() {
			return en.Seq
		}
	}
	return ended
}

// ends reports whether the task ended with the entry.
func (en Entry) ends() bool {
	return en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal()
}

// Beyond reports whether readers of t can have events after seq at once.
func (t *Topic) Beyond(seq int64) bool {
	entries, _, _ := t.after(seq)
	return showsOne(entries)
}

// after returns the committed entries after a cursor, as far as the tail reaches back. known is
// false if the store has to be asked. changed is closed when there may be more.
func (t *Topic) after(cursor int64) (entries []Entry, known bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.task == nil {
		return nil, false, t.changed.Wait()
	}
	behind := t.last - cursor
	switch {
	case behind <= 0:
		return nil, true, t.changed.Wait()
	case behind > int64(len(t.tail)):
		return nil, false, t.changed.Wait()
	}
	entries = t.tail[int64(len(t.tail))-behind:]
	t.eventsLocked()
	return entries, true, nil // the reader looks again before it waits
}

// eventsLocked makes the events of the newest entries, at the end of the tail, for all later
// readers. Entries that a reader has got already have theirs.
func (t *Topic) eventsLocked() {
	from, shown := len(t.tail), 0
	for from > 0 && !t.tail[from-1].ready {
		from--
		if t.tail[from].Shows() {
			shown++
		}
	}
	events := make([]struct {
		a2a.StreamResponse
		shared a2a.Shared
	}, shown)
	last := shown - 1
	for i := from; i < len(t.tail); i++ {
		en := &t.tail[i]
		en.ready = true
		if !en.Shows() {
			continue
		}
		ev := &events[0]
		events = events[1:]
		ev.shared.Init(en.Body)
		ev.StreamResponse = a2a.StreamResponse{
			StatusUpdate: en.Status, ArtifactUpdate: en.Artifact, Seq: en.Seq, More: last > 0, Shared: &ev.shared,
		}
		last--
		en.event = &ev.StreamResponse
	}
}

// published drops the entries that were read from the store but are not published yet: between
// a commit and its publication the log is ahead of the topic, and no reader must see more than
// another.
func (t *Topic) published(entries []Entry) []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(entries)
	for t.task != nil && n > 0 && entries[n-1].Seq > t.last {
		n--
	}
	return entries[:n]
}

// detach sends the readers away. Later readers meet at another topic.
func (t *Topic) detach() {
	t.mu.Lock()
	t.detached = true
	t.owner, t.task, t.last, t.tail, t.bytes = nil, nil, 0, nil, 0
	t.staleLocked()
	t.mu.Unlock()
}

// Committed returns the seq of the last entry that is durable.
func (t *Topic) Committed() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Reach waits until the entry with this seq is durable, as long as o is the owner.
func (t *Topic) Reach(ctx context.Context, o Owner, seq int64) error {
	for {
		t.mu.Lock()
		if t.owner == o && t.last >= seq {
			t.mu.Unlock()
			return nil
		}
		if t.owner != o {
			t.mu.Unlock()
			return agent.ErrEnded
		}
		changed := t.changed.Wait()
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
