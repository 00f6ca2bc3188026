package topic

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Topics are those of the tasks that somebody in this process reads or owns.
type Topics struct {
	// set at start, then constant
	store     store.Store
	read      *stored.Reader
	longest   time.Duration          // of a long poll
	draining  <-chan struct{}        // closed when the process stops serving
	Lapsed    func() bool            // others may take this process for dead
	Wrote     func(error)            // hears that the store is out of reach
	Recovered func() <-chan struct{} // is closed while the store is within reach
	others    others                 // what other processes do

	sync.Mutex // protects the field below, who uses a topic, and who owns a task
	m          map[store.Key]*Topic
}

// Owner is the one writer of a task, as its topic knows it.
type Owner interface {
	// Key names the task.
	Key() store.Key
	// Ready reports whether it has loaded the task.
	Ready() bool
	// Has reports whether a row, as it is stored now, says that the task is its.
	Has(*store.Row) bool
	// Evict ends it: the task is another process's by now.
	Evict()
}

// others is what is known of other processes, which may be at work at tasks that are
// read here: nothing where the store is this process's alone.
type others interface {
	// joined and left say that a topic begins and ends, under the lock of the topics.
	joined(*Topic)
	left(*Topic)
	// entries returns those behind a cursor of a task that nobody here owns. If there are
	// none, changed is closed when there may be some, or somebody owns it; nil: one does
	// not hear of it.
	entries(ctx context.Context, t *Topic, cursor int64) (some []Entry, changed <-chan struct{}, _ error)
	// row returns the row of a task that nobody here owns.
	row(context.Context, *Topic) (*store.Row, error)
	// every is how often the store is asked for what was not heard of.
	every() time.Duration
}

// New returns topics without any. longest is for a long poll; when draining is closed
// readers leave.
func New(st store.Store, r *stored.Reader, longest time.Duration, draining <-chan struct{}) *Topics {
	ts := &Topics{store: st, read: r, longest: longest, draining: draining, m: map[store.Key]*Topic{}}
	ts.others = alone{ts}
	return ts
}

// LenLocked returns how many topics there are, for tests. The lock is held, or nobody
// else has them.
func (ts *Topics) LenLocked() int { return len(ts.m) }

func (ts *Topics) stopping() bool { return wake.Closed(ts.draining) }

// Join returns the key's topic and counts a user of it; Leave ends that.
func (ts *Topics) Join(k store.Key) *Topic {
	ts.Lock()
	defer ts.Unlock()
	return ts.JoinLocked(k)
}

// JoinLocked is Join with the lock held.
func (ts *Topics) JoinLocked(k store.Key) *Topic {
	t := ts.m[k]
	if t == nil {
		t = &Topic{Key: k}
		ts.m[k] = t
		ts.others.joined(t)
	}
	t.refs++
	return t
}

// Leave ends a use of a topic.
func (ts *Topics) Leave(t *Topic) {
	ts.Lock()
	defer ts.Unlock()
	ts.LeaveLocked(t)
}

// LeaveLocked is Leave with the lock held.
func (ts *Topics) LeaveLocked(t *Topic) {
	if t.refs--; t.refs == 0 && ts.m[t.Key] == t {
		ts.dropLocked(t)
	}
}

// DismissLocked sends the readers of a task away: see topic.detach.
func (ts *Topics) DismissLocked(k store.Key) {
	if t := ts.m[k]; t != nil {
		ts.dropLocked(t)
		t.detach()
	}
}

// dropLocked forgets a topic that others can find.
func (ts *Topics) dropLocked(t *Topic) {
	delete(ts.m, t.Key)
	ts.others.left(t)
}

// WakeAll lets all readers see that the engine drains: they look after they have
// taken the channel that is closed here, and it costs them nothing until then.
func (ts *Topics) WakeAll() {
	ts.Lock()
	defer ts.Unlock()
	for _, t := range ts.m {
		t.mu.Lock()
		t.changed.Ring()
		t.mu.Unlock()
	}
}

// meets reports whether somebody here reads or owns a task.
func (ts *Topics) meets(k store.Key) bool {
	ts.Lock()
	defer ts.Unlock()
	return ts.m[k] != nil
}
