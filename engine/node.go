package engine

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

// present makes sure that others know of this process before it has a task: they
// would take it. It may be asked before Run has got as far as that.
func (e *Engine) present(ctx context.Context) error {
	if err := e.nodes.Present(ctx); err != nil {
		return errUnwritten(stored.Failed(err, "register with the store"))
	}
	return nil
}

// Registered reports whether the store knows of this process: from shortly after
// the start of Run.
func (e *Engine) Registered() bool { return e.nodes.Registered() }

// verifyAll looks which tasks others have taken over. It calls alive in between, and
// stops at its error.
func (e *Engine) verifyAll(ctx context.Context, alive func() error) error {
	e.topics.Lock()
	all := make([]*owner, 0, len(e.owners))
	for _, o := range e.owners {
		if o.ready.Was() { // otherwise it is being loaded from the store
			all = append(all, o)
		}
	}
	e.topics.Unlock()
	for some := range slices.Chunk(all, topic.RowsAtOnce) {
		keys := make([]store.Key, len(some))
		for i, o := range some {
			keys[i] = o.key
		}
		rows, err := topic.Rows(ctx, e.store, keys)
		if err != nil {
			return stored.Failed(err, "read tasks")
		}
		for _, o := range some {
			// One that is not there is not written yet, or deleted, which readers find out.
			if row, ok := rows[o.key]; ok && !o.Has(&row) {
				e.evict(o)
			}
		}
		if err := alive(); err != nil {
			return err
		}
	}
	return nil
}

// lease is what gives an owner its task: the row as it was loaded, and the epoch
// with which it is written.
type lease struct {
	node  string
	epoch int64 // 0: the task is born here
	next  int64
	drawn bool // the task waited in the store for this process
}

// Has reports whether a row, as it is stored now, says that the task is o's.
func (o *owner) Has(r *store.Row) bool {
	return r.Node == o.e.node && r.Epoch == o.lease.next ||
		r.Node == o.lease.node && r.Epoch == o.lease.epoch // nothing was written since it was loaded
}

// Key names the task.
func (o *owner) Key() store.Key { return o.key }

// Ready reports whether o has loaded its task.
func (o *owner) Ready() bool { return o.ready.Was() }

// Evict is evict.
func (o *owner) Evict() { o.e.evict(o) }

// evict ends an ownership that is another process's by now: the agent is told,
// callers are sent to the store, and whoever asks next loads the task anew.
func (e *Engine) evict(o *owner) {
	e.topics.Lock()
	if e.owners[o.key] == o {
		delete(e.owners, o.key)
	}
	o.mu.Lock()
	if o.phase != phaseClosed {
		if o.err = errElsewhere(nil); o.phase == phaseYielding {
			o.err = errBegun()
		} else {
			o.log().Warn("task was taken over by another process")
		}
		o.closeLocked() // nobody waits for the agent
		o.out.pending, o.out.bytes, o.mem.unsaved, o.succession.next = nil, 0, 0, nil
		o.wake.Ring()
	}
	o.mu.Unlock()
	e.topics.Unlock()
	o.ctx.end(agent.ErrEnded)
	o.topic.Release(o, nil)
	o.nudge()
}

// errElsewhere is what they get who need the task's owner: r, if not nil, says
// which it is.
func errElsewhere(r *store.Row) error {
	by := place.ErrTaken
	if r != nil {
		by = &elsewhere{r.Node, r.Epoch}
	}
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "another process of this server works at the task; try again shortly",
		Cause:   by,
	}
}

// byeWait is how long the end of a process may take after its agents had their
// time.
const byeWait = 2 * time.Second

// bye is the last this process does to the store: it leaves its tasks to others
// in good order. Those whose agents did not stop are taken from them first, as a
// process would that finds this one dead: nobody knows what they still do.
func (e *Engine) bye(ctx context.Context, quiet bool) error {
	if !quiet {
		e.topics.Lock()
		var stuck []store.Key
		for k := range e.owners {
			stuck = append(stuck, k)
		}
		e.topics.Unlock()
		dead := newID()
		if err := e.store.Leave(ctx, dead); err != nil { // so that they are lost once, not twice
			return err
		}
		for _, k := range stuck {
			rec, err := e.store.Get(ctx, k, store.RowOnly)
			if err == nil && rec.Node == e.node {
				_, err = e.store.Take(ctx, dead, place.Everyone, k)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
	if err := e.store.Leave(ctx, e.node); err != nil {
		return err
	}
	return e.giveBack(ctx)
}
