package topic

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Topics are the topics of the tasks that this process reads or owns.
type Topics struct {
	// set at start, then constant
	store     store.Store
	read      *stored.Reader
	longest   time.Duration          // of a long poll
	draining  <-chan struct{}        // closed when the process stops serving
	Lapsed    func() bool            // other processes may consider this one dead
	Wrote     func(error)            // is told that the store is unreachable
	Recovered func() <-chan struct{} // its channel is closed while the store is reachable
	others    others                 // what other processes do

	sync.Mutex // protects the field below, the uses of a topic, and who owns a task
	m          map[store.Key]*Topic
}

// Owner is the only writer of a task, as its topic knows it.
type Owner interface {
	// Key names the task.
	Key() store.Key
	// Ready reports whether the owner has loaded the task.
	Ready() bool
	// Has reports whether the task's row, as it is stored now, shows that the task is this
	// owner's.
	Has(*store.Row) bool
	// Evict ends the ownership: the task is another process's by now.
	Evict()
}

// others tells what other processes do to tasks that are read here. If only this process uses
// the store, that is nothing: see alone.
type others interface {
	// joined and left are told that a topic begins and ends, under the lock of the topics.
	joined(*Topic)
	left(*Topic)
	// entries returns the entries after a cursor of a task without an owner here. If there are
	// none, changed is closed when there may be some, or the task has got an owner; a nil
	// channel means that there is no such notice.
	entries(ctx context.Context, t *Topic, cursor int64) (some []Entry, changed <-chan struct{}, _ error)
	// row returns the row of a task without an owner here.
	row(context.Context, *Topic) (*store.Row, error)
	// every returns how often to ask the store, in case a hint was lost.
	every() time.Duration
}

// New returns Topics without a topic. longest is how long a long poll may take. Readers leave
// when draining is closed.
func New(st store.Store, r *stored.Reader, longest time.Duration, draining <-chan struct{}) *Topics {
	ts := &Topics{store: st, read: r, longest: longest, draining: draining, m: map[store.Key]*Topic{}}
	ts.others = alone{ts}
	return ts
}

// LenLocked returns how many topics there are, for tests. The lock is held, or ts is not
// shared.
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

// DismissLocked sends the readers of a task away: see Topic.detach.
func (ts *Topics) DismissLocked(k store.Key) {
	if t := ts.m[k]; t != nil {
		ts.dropLocked(t)
		t.detach()
	}
}

// dropLocked removes a topic, so that no new reader finds it.
func (ts *Topics) dropLocked(t *Topic) {
	delete(ts.m, t.Key)
	ts.others.left(t)
}

// WakeAll makes all readers see that the engine drains. They check for that after they have
// taken the channel that is closed here, so it costs them nothing until then.
func (ts *Topics) WakeAll() {
	ts.Lock()
	defer ts.Unlock()
	for _, t := range ts.m {
		t.mu.Lock()
		t.changed.Ring()
		t.mu.Unlock()
	}
}

// meets reports whether a task has a reader or an owner here.
func (ts *Topics) meets(k store.Key) bool {
	ts.Lock()
	defer ts.Unlock()
	return ts.m[k] != nil
}
