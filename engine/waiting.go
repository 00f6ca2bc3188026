package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// What comes when this process has no room for it is taken nevertheless: it goes
// into the store as a task that is nobody's, and a process that has room draws it,
// this one or another. Nothing of it stays here but those who wait for its end.
//
// A task that waits has no owner in between. Who has something for it (a message,
// a cancellation) writes that with the epoch as it stands: so either that append
// or a Draw comes first, and the other one is refused.

// yieldLocked leaves the task to whoever draws it. An agent of it that waits for
// its client is told to stop: it runs again there.
func (o *owner) yieldLocked() {
	ran := o.phase == phaseRunning
	o.enterLocked(phaseYielding)
	if ran { // nobody waits for it to return
		o.ctx.end(agent.ErrEnded)
		o.wake.Ring()
	}
}

// beginLocked begins the first turn of a task that was born here, and may run here
// or has to wait.
func (o *owner) beginLocked(here bool) {
	if here {
		o.startLocked()
		return
	}
	o.lease.next, o.saved.row.Epoch = 0, 0 // whoever draws it is its first owner
	o.yieldLocked()
	o.createLocked()
}

// waits says that a task may have been left in the store to be drawn.
func (e *Engine) waits() {
	e.admission.Behind(true)
	e.taker.mu.Lock()
	e.taker.draws = true
	e.taker.mu.Unlock()
	e.taker.look()
}

// draw takes up to n tasks that wait, those of each tenant in turn.
func (e *Engine) draw(ctx context.Context, n int) (slots int, _ error) {
	t := e.taker
	return e.obtain(ctx, n, &t.draws, true, func() ([]store.Row, error) {
		rows, err := e.store.Draw(ctx, e.node, t.tenant, n)
		if len(rows) > 0 {
			t.tenant = rows[len(rows)-1].Tenant
		}
		return rows, err
	})
}

// unbegun notes a task that was drawn and not begun when the process drains.
func (t *taker) unbegun(k store.Key) {
	t.mu.Lock()
	t.back = append(t.back, k)
	t.mu.Unlock()
}

// giveBack lets tasks that this process did not begin wait again. It has left
// already, so another may be quicker and go on with them.
func (e *Engine) giveBack(ctx context.Context) error {
	e.taker.mu.Lock()
	back := e.taker.back
	e.taker.mu.Unlock()
	for _, k := range back {
		rec, err := e.store.Get(ctx, k, store.RowOnly)
		if err == nil && rec.Active && rec.Node == e.node {
			_, err = e.store.Take(ctx, "", e.nodes.DeadBefore(), k)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

var errDrawn = errors.New("engine: a process has drawn the task meanwhile")

// errBegun is what those get who had something for a task that waited, when it
// waits no more. They look again who has it.
func errBegun() error {
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "the task has just begun at another process of this server; try again shortly",
		Cause:   errDrawn,
	}
}
