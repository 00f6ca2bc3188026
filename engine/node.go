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
	e.mu.Lock()
	all := make([]*owner, 0, len(e.owners))
	for _, o := range e.owners {
		if o.ready.was() { // otherwise it is being loaded from the store
			all = append(all, o)
		}
	}
	e.mu.Unlock()
	for some := range slices.Chunk(all, rowsAtOnce) {
		keys := make([]store.Key, len(some))
		for i, o := range some {
			keys[i] = o.key
		}
		rows, err := e.rows(ctx, keys)
		if err != nil {
			return stored.Failed(err, "read tasks")
		}
		for _, o := range some {
			// One that is not there is not written yet, or deleted, which readers find out.
			if row, ok := rows[o.key]; ok && !o.has(&row) {
				e.evict(o)
			}
		}
		if err := alive(); err != nil {
			return err
		}
	}
	return nil
}

// rowsAtOnce is how many rows are asked for at a time.
const rowsAtOnce = 500

// rows returns the rows of those of some tasks that there are.
func (e *Engine) rows(ctx context.Context, keys []store.Key) (map[store.Key]store.Row, error) {
	found, err := e.store.Rows(ctx, keys)
	if err != nil {
		return nil, err
	}
	rows := make(map[store.Key]store.Row, len(found))
	for _, r := range found {
		rows[r.Key] = r
	}
	return rows, nil
}

// lease is what gives an owner its task: the row as it was loaded, and the epoch
// with which it is written.
type lease struct {
	node  string
	epoch int64 // 0: the task is born here
	next  int64
	drawn bool // the task waited in the store for this process
}

// verify reports whether the store has the task as o's. If it has not, o goes.
func (e *Engine) verify(ctx context.Context, o *owner) (bool, error) {
	rec, err := e.store.Get(ctx, o.key, store.RowOnly)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return true, nil // not written yet, or deleted, which readers find out
	case err != nil:
		return false, stored.Failed(err, "read task "+o.key.ID)
	case o.has(&rec.Row):
		return true, nil
	}
	e.evict(o)
	return false, nil
}

// has reports whether a row, as it is stored now, says that the task is o's.
func (o *owner) has(r *store.Row) bool {
	return r.Node == o.e.node && r.Epoch == o.lease.next ||
		r.Node == o.lease.node && r.Epoch == o.lease.epoch // nothing was written since it was loaded
}

// evict ends an ownership that is another process's by now: the agent is told,
// callers are sent to the store, and whoever asks next loads the task anew.
func (e *Engine) evict(o *owner) {
	e.mu.Lock()
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
		o.wake.ring()
	}
	o.mu.Unlock()
	e.mu.Unlock()
	o.ctx.end(agent.ErrEnded)
	o.topic.release(o, nil)
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

// trusted reports whether what t holds may be shown: not if another process may
// have gone on with the task, and has.
func (e *Engine) trusted(ctx context.Context, t *topic) (bool, error) {
	o, waits := t.holder()
	// A task that waits for its client may be gone on with anywhere, at any time.
	if o == nil || !(waits && t.contested()) && !e.nodes.Lapsed() {
		return true, nil
	}
	return e.verify(ctx, o)
}

// byeWait is how long the end of a process may take after its agents had their
// time.
const byeWait = 2 * time.Second

// bye is the last this process does to the store: it leaves its tasks to others
// in good order. Those whose agents did not stop are taken from them first, as a
// process would that finds this one dead: nobody knows what they still do.
func (e *Engine) bye(ctx context.Context, quiet bool) error {
	if !quiet {
		e.mu.Lock()
		var stuck []store.Key
		for k := range e.owners {
			stuck = append(stuck, k)
		}
		e.mu.Unlock()
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
