package task

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// lease identifies an ownership: the task's row as it was loaded, and the epoch of the owner's
// appends.
type lease struct {
	node  string
	epoch int64 // as it was loaded; 0: the task is new
	next  int64
	last  int64 // seq of the newest entry, as it was loaded
	drawn bool  // this process drew the task, which waited for capacity
}

// Has reports whether r, the task's row as it is stored now, shows that the task is still o's.
func (o *Owner) Has(r *store.Row) bool {
	return r.Node == o.all.Node && r.Epoch == o.lease.next ||
		r.Node == o.lease.node && r.Epoch == o.lease.epoch && // nothing was written since it was loaded
			(r.Node == "" || r.Last == o.lease.last) // a live process goes on writing with its epoch
}

// Key names the task.
func (o *Owner) Key() store.Key { return o.key }

// Ready reports whether o has loaded its task.
func (o *Owner) Ready() bool { return o.ready.Was() }

// VerifyAll evicts the owners whose tasks other processes have taken over. It calls alive after
// each batch and stops at its error.
func (os *Owners) VerifyAll(ctx context.Context, alive func() error) error {
	// An owner that is not ready is being loaded from the store.
	all := slices.DeleteFunc(os.AtWork(), func(o *Owner) bool { return !o.ready.Was() })
	for some := range slices.Chunk(all, topic.RowsAtOnce) {
		keys := make([]store.Key, len(some))
		for i, o := range some {
			keys[i] = o.key
		}
		rows, err := topic.Rows(ctx, os.Store, keys)
		if err != nil {
			return stored.Failed(err, "read tasks")
		}
		for _, o := range some {
			// A missing row is not written yet, or was deleted, which readers find out.
			if row, ok := rows[o.key]; ok && !o.Has(&row) {
				o.Evict()
			}
		}
		if err := alive(); err != nil {
			return err
		}
	}
	return nil
}

// Evict ends the ownership of a task that another process has by now: the agent is told,
// readers turn to the store, and the next caller loads the task anew.
func (o *Owner) Evict() {
	o.all.Topics.Lock()
	defer o.all.Topics.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase != phaseClosed {
		if o.err = NotHere(nil); o.phase == phaseYielding {
			o.err = errBegun()
		} else {
			o.log().Warn("another process took the task over, or deleted it")
		}
		tellMissed(o.out.pending, false)
		refuse(o.out.pending, o.err)
		o.out.pending, o.out.bytes, o.mem.unsaved, o.succession.next = nil, 0, 0, nil
	}
	o.dismissLocked(agent.ErrEnded, nil)
}

// NotHere returns the error for callers that need the task's owner, which is in another
// process: the one that r names, if r is not nil.
func NotHere(r *store.Row) error {
	by := place.ErrTaken
	if r != nil {
		by = &Elsewhere{r.Node, r.Epoch}
	}
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "another process of this server works at the task; try again shortly",
		Cause:   by,
	}
}

// Elsewhere says which process has a task. It matches place.ErrTaken.
type Elsewhere struct {
	Node  string
	epoch int64
}

func (*Elsewhere) Error() string { return place.ErrTaken.Error() }

func (*Elsewhere) Is(target error) bool { return target == place.ErrTaken }

// Bye is the last thing that this process does to the store: it leaves its tasks to others in
// good order. Unless quiet, some agents did not stop, and it is unknown what they still do.
// Their tasks are first taken away, as another process does with those of a dead one, so that
// they count as lost.
func (os *Owners) Bye(ctx context.Context, quiet bool) error {
	if !quiet {
		stuck := os.AtWork()
		dead := stored.NewID()
		if err := os.Store.Leave(ctx, dead); err != nil { // so that the tasks are lost once, not twice
			return err
		}
		for _, o := range stuck {
			rec, err := os.Store.Get(ctx, o.key, store.RowOnly)
			if err == nil && rec.Node == os.Node {
				_, err = os.Store.Take(ctx, dead, place.Everyone, o.key)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
	if err := os.Store.Leave(ctx, os.Node); err != nil {
		return err
	}
	return os.giveBack(ctx)
}

// ByeWait is how long a process may still take to end after its agents had their time to stop.
const ByeWait = 2 * time.Second
