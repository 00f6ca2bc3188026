package engine

import (
	"slices"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// topic is where the readers of one task meet its owner: the task as
// committed, the newest entries, and a hint that there is more. It exists
// while anybody reads or owns the task in this process.
type topic struct {
	key  store.Key
	refs int // protected by Engine.mu

	remote *remote // what other processes do to the task; nil: there are none; set at start, then constant

	mu       sync.Mutex // protects the fields below
	changed  bell
	owner    *owner    // whose task is held; nil if nobody's
	lost     error     // why the last owner gave the task up, if no other process has it
	task     *a2a.Task // fold of the log up to last; nil while nobody here owns the task
	last     int64     // the durable watermark, while task is set; otherwise what was read for all
	tail     []sized   // the newest entries, the last of them at last
	bytes    int       // in tail
	detached bool      // the task is about to be deleted: readers leave, see retire
	ended    int64     // seq of the newest end that was seen; the task may have gone on since
}

// sized is an entry with the size of its stored body, in bytes.
type sized struct {
	*a2a.Entry
	size  int
	apart bool                // it refers to content that was not read yet, see Engine.behind
	body  []byte              // as it is stored, where that is what streams show, too
	ready bool                // event is set, where streams show the entry: see eventsLocked
	event *a2a.StreamResponse // what all readers get of it
}

func (r *record) sized() sized {
	s := sized{Entry: r.entry, size: len(r.body)}
	if len(r.blobs) == 0 {
		s.body = r.body
	}
	return s
}

// The tail serves readers that keep up; those further behind read from the
// store. It is cut to half when it outgrows either limit.
const (
	maxTail      = 4 * maxFlight
	maxTailBytes = 1 << 20
)

// adopt makes t hold the task as committed up to last, for its new owner.
func (t *topic) adopt(o *owner, task *a2a.Task, last int64) {
	t.mu.Lock()
	t.owner, t.lost = o, nil
	t.task, t.last, t.tail, t.bytes = task, last, nil, 0
	t.remote.adopted()
	t.wakeLocked() // who waits for news of others
	t.mu.Unlock()
}

// handOver makes o the owner of a task that t holds already.
func (t *topic) handOver(o *owner) {
	t.mu.Lock()
	t.owner = o
	t.mu.Unlock()
}

// holder returns the owner whose task t holds, and whether the task waits for
// its client.
func (t *topic) holder() (o *owner, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner, t.task != nil && t.task.Status.State.Interrupted()
}

// publish adds entries that o committed and wakes the readers. behind, if not
// nil, is the task behind them, which is t's from now on; otherwise at, if not
// nil, is called for each entry with the task as of it. False means that the task
// is not o's any more: see evict.
func (t *topic) publish(o *owner, entries []sized, behind *a2a.Task, at func(*a2a.Entry, *a2a.Task)) bool {
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
		t.tail = append(t.tail, en)
		t.bytes += en.size
		if at != nil && behind == nil {
			at(en.Entry, t.task)
		}
	}
	t.trimLocked()
	t.wakeLocked()
	return true
}

// tailBytes is how much the tail holds besides the task.
func (t *topic) tailBytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(t.bytes)
}

// trimLocked copies what stays, because readers hold slices of the old tail.
func (t *topic) trimLocked() {
	if len(t.tail) <= maxTail && t.bytes <= maxTailBytes {
		return
	}
	keep := len(t.tail) - 1 // the newest stays, however large: all who wait for it share it
	bytes := t.tail[keep].size
	for keep > 0 && len(t.tail)-keep < maxTail/2 && bytes+t.tail[keep-1].size <= maxTailBytes/2 {
		keep--
		bytes += t.tail[keep].size
	}
	t.tail = append([]sized(nil), t.tail[keep:]...)
	t.bytes = bytes
}

// release ends an ownership: from now on the store knows best, unless the
// task is finished, when nothing can change any more, but where versions of the
// protocol let it be reopened and another process may do so. An owner that leaves
// may have a successor already, whose task stays.
func (t *topic) release(o *owner, lost error) {
	t.mu.Lock()
	if t.owner == o {
		t.owner, t.lost = nil, lost
		t.remote.appends(false)
		if t.task != nil && (!t.task.Status.State.Terminal() || t.task.Version.Reopens() && t.contested()) {
			t.task, t.last, t.tail, t.bytes = nil, 0, nil, 0
			t.staleLocked()
		}
	}
	t.wakeLocked()
	t.mu.Unlock()
}

func (t *topic) wakeLocked() {
	t.changed.ring()
}

// fly notes that an append is under way.
func (t *topic) fly() {
	if t.contested() { // otherwise a lock for each append would be for nothing
		t.mu.Lock()
		t.remote.appends(true)
		t.mu.Unlock()
	}
}

// newest is snapshot for who may have seen more in another process: nil as well
// while that is possible.
func (t *topic) newest() (*a2a.Task, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.contested() && t.remote.aloft {
		return nil, 0
	}
	return t.snapshotLocked()
}

// snapshot returns the task as committed and its watermark, or nil if nobody
// owns it here.
func (t *topic) snapshot() (*a2a.Task, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.snapshotLocked()
}

func (t *topic) snapshotLocked() (*a2a.Task, int64) {
	if t.task == nil {
		return nil, 0
	}
	return t.task.Snapshot(), t.last
}

// glance is what those who wait look at.
type glance struct {
	state      a2a.TaskState
	generation int64
	last       int64 // the durable watermark
	ended      int64 // see topic
	known      bool  // state, generation and last are; otherwise the store knows
	changed    <-chan struct{}
}

// watch returns the task as committed, at a glance, with a channel that is
// closed when it may have changed.
func (t *topic) watch() glance {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.lookLocked()
	g.changed = t.changed.wait()
	return g
}

// look is watch for who does not wait.
func (t *topic) look() glance {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lookLocked()
}

func (t *topic) lookLocked() glance {
	g := glance{ended: t.ended}
	if t.task != nil {
		g.state, g.generation, g.last, g.known = t.task.Status.State, t.task.Generation, t.last, true
	}
	return g
}

// endBehind returns where the task ended first behind after, given that it did
// by ended, or 0 if only the log knows: versions of the protocol let a task go on
// after its end, so there may have been more than one.
func (t *topic) endBehind(after, ended int64) int64 {
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
func (en sized) ends() bool {
	return en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal()
}

// failure returns why nobody works at the task any more, or nil. Who waits for
// the task would wait in vain.
func (t *topic) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// beyond reports whether readers of t have events to come at once behind seq.
func (t *topic) beyond(seq int64) bool {
	entries, _, _ := t.after(seq)
	return showsOne(entries)
}

// after returns the committed entries behind a cursor, as far as the tail
// reaches back. known is false if the store has to be asked. changed is closed
// when there may be more.
func (t *topic) after(cursor int64) (entries []sized, known bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.task == nil {
		return nil, false, t.changed.wait()
	}
	behind := t.last - cursor
	switch {
	case behind <= 0:
		return nil, true, t.changed.wait()
	case behind > int64(len(t.tail)):
		return nil, false, t.changed.wait()
	}
	entries = t.tail[int64(len(t.tail))-behind:]
	t.eventsLocked()
	return entries, true, nil // who reads these looks again before it waits
}

// eventsLocked makes the events of the newest entries, at the end of the tail, for
// all who read from here on. Entries that a reader has got have theirs.
func (t *topic) eventsLocked() {
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
		ev.shared.Init(en.body)
		ev.StreamResponse = a2a.StreamResponse{
			StatusUpdate: en.Status, ArtifactUpdate: en.Artifact, Seq: en.Seq, More: last > 0, Shared: &ev.shared,
		}
		last--
		en.event = &ev.StreamResponse
	}
}

// published leaves out what was read from the store and is not published yet:
// between a commit and its publication the log is ahead of the topic, and a
// reader of one must not know what a reader of the other does not.
func (t *topic) published(entries []sized) []sized {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(entries)
	for t.task != nil && n > 0 && entries[n-1].Seq > t.last {
		n--
	}
	return entries[:n]
}

// wakeAll lets all readers see that the engine drains: they look after they have
// taken the channel that is closed here, and it costs them nothing until then.
func (e *Engine) wakeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.topics {
		t.mu.Lock()
		t.wakeLocked()
		t.mu.Unlock()
	}
}

// join returns the key's topic and counts a user of it; leave ends that.
func (e *Engine) join(k store.Key) *topic {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.joinLocked(k)
}

func (e *Engine) joinLocked(k store.Key) *topic {
	t := e.topics[k]
	if t == nil {
		t = &topic{key: k}
		e.topics[k] = t
		e.peers.joined(t)
	}
	t.refs++
	return t
}

func (e *Engine) leave(t *topic) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaveLocked(t)
}

func (e *Engine) leaveLocked(t *topic) {
	if t.refs--; t.refs == 0 && e.topics[t.key] == t {
		e.dropLocked(t)
	}
}

// dropLocked forgets a topic that is in e.topics.
func (e *Engine) dropLocked(t *topic) {
	delete(e.topics, t.key)
	e.peers.left(t)
}
