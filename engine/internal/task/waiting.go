package task

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// A message that comes when this process has no capacity is accepted nevertheless:
// it goes into the store as a task without an owner, and a process with capacity
// draws it, this one or another. Nothing of it stays here but those who wait for
// its end.
//
// A task that waits has no owner in between. Who has something for it (a message,
// a cancellation) writes that with the epoch as it stands: so either that append
// or a Draw comes first, and the other one is refused.

// yieldLocked leaves the task to whoever draws it. An agent of it that waits for
// its client is told to stop: it runs again there.
func (o *Owner) yieldLocked() {
	ran := o.phase == phaseRunning
	o.enterLocked(phaseYielding)
	if ran { // nobody waits for it to return
		o.ctx.end(agent.ErrDraining) // which says that the agent will run again
		o.wake.Ring()
	}
}

// beginLocked begins the first turn of a task that was born here, and may run here
// or has to wait.
func (o *Owner) beginLocked(here bool) {
	if here {
		o.startLocked()
		return
	}
	o.lease.next, o.saved.row.Epoch = 0, 0 // whoever draws it is its first owner
	o.yieldLocked()
	o.createLocked()
}

// waits says that a task may have been left in the store to be drawn.
func (os *Owners) waits() {
	os.Admission.Behind(true)
	os.taker.mu.Lock()
	os.taker.draws = true
	os.taker.mu.Unlock()
	os.taker.look()
}

// draw takes up to n tasks that wait, those of each tenant in turn.
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

// giveBack lets tasks that this process did not begin wait again. It has left
// already, so another may be quicker and go on with them.
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

// errBegun is what those get who had something for a task that waited, when it
// waits no more. They look again who has it.
func errBegun() error {
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "the task has just begun at another process of this server; try again shortly",
		Cause:   ErrDrawn,
	}
}
