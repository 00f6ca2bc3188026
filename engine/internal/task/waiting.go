package task

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// A message that comes when this process has no capacity is accepted nevertheless: it goes into
// the store as a task without an owner, and a process with capacity draws it, this one or
// another. Only the callers that wait for the task's end stay here.
//
// While a task waits, it has no owner. A message or a cancellation for it is appended with the
// epoch as it is stored. So either that append or a Draw comes first, and the other one is
// refused.

// yieldLocked leaves the task to the process that draws it. If its agent runs, waiting for its
// client, it is told to stop: it runs again in that process.
func (o *Owner) yieldLocked() {
	ran := o.phase == phaseRunning
	o.enterLocked(phaseYielding)
	if ran { // its return is not waited for
		o.ctx.end(agent.ErrDraining) // which tells the agent that it will run again
		o.wake.Ring()
	}
}

// beginLocked begins the first turn of a task that is new here: the turn runs here, or the task
// has to wait.
func (o *Owner) beginLocked(here bool) {
	if here {
		o.startLocked()
		return
	}
	o.lease.next, o.saved.row.Epoch = 0, 0 // the process that draws the task is its first owner
	o.yieldLocked()
	o.createLocked()
}

// waits notes that a task may have been left in the store to be drawn.
func (os *Owners) waits() {
	os.Admission.Behind(true)
	os.taker.mu.Lock()
	os.taker.draws = true
	os.taker.mu.Unlock()
	os.taker.look()
}

// draw takes up to n tasks that wait for capacity; tenants take turns.
func (os *Owners) draw(ctx context.Context, n int) (slots int, _ error) {
	t := os.taker
	return os.obtain(ctx, n, &t.draws, true, func() ([]store.Row, error) {
		rows, err := os.Store.Draw(ctx, os.Node, t.tenant, n)
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

// giveBack lets tasks that this process drew but did not begin wait again. This process has
// left already, so another one may have taken them first.
func (os *Owners) giveBack(ctx context.Context) error {
	os.taker.mu.Lock()
	back := os.taker.back
	os.taker.mu.Unlock()
	for _, k := range back {
		rec, err := os.Store.Get(ctx, k, store.RowOnly)
		if err == nil && rec.Active && rec.Node == os.Node {
			_, err = os.Store.Take(ctx, "", os.Nodes.DeadBefore(), k)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

var ErrDrawn = errors.New("engine: a process has drawn the task meanwhile")

// errBegun refuses a message or a cancellation for a task that waited, because it waits no
// more. The caller looks up its owner again.
func errBegun() error {
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "the task has just begun at another process of this server; try again shortly",
		Cause:   ErrDrawn,
	}
}
