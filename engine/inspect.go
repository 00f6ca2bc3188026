package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// What operators look at, and the little that they may do. It is separate from the Service:
// callers are not checked here, and tasks are named by their keys.

// Observer is told what this process commits. Many goroutines call its methods while they
// work: the methods must not block.
type Observer interface {
	// TaskChanged is called with the row of a task that is new or has changed its state.
	// The row must not be retained, and its Last is not set.
	TaskChanged(*store.Row)
	// TaskDeleted is called with the row of a task after its deletion. It is also called for a
	// task that went on meanwhile and still exists.
	TaskDeleted(*store.Row)
	// Advanced is called with the progress of deliveries of webhooks.
	Advanced([]store.Advance)
}

// Observe sets the Observer of what this process commits. Call it at most once, before
// Run.
func (e *Engine) Observe(o Observer) { e.observer, e.owners.Changed = o, o.TaskChanged }

// Node returns the name of this process in the store.
func (e *Engine) Node() string { return e.node }

// Now returns the time by the clock that all processes of the store share.
func (e *Engine) Now() time.Time { return e.owners.Now() }

// AtWork returns how many tasks are at work in this process.
func (e *Engine) AtWork() int { return e.owners.Count() }

// DeadBefore returns the time before which a process must have sent its last heartbeat
// for its tasks to be taken over.
func (e *Engine) DeadBefore() time.Time { return e.nodes.DeadBefore() }

// TaskAt returns a task as of a position of its log; zero means the end of the log.
func (e *Engine) TaskAt(ctx context.Context, key store.Key, seq int64) (*a2a.Task, error) {
	if err := e.read.MakeRoomFor(ctx, key); err != nil {
		return nil, err
	}
	if seq == 0 {
		task, _, err := e.topics.Load(ctx, key)
		return task, err
	}
	return e.read.FoldTo(ctx, key, seq)
}

// FollowLog yields the entries of a task's log after a position, as they are stored, and
// then each new one as it is committed, until the task has ended.
func (e *Engine) FollowLog(ctx context.Context, key store.Key, after int64) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) { e.topics.StoredLog(ctx, key, after, yield) }
}

// CancelFor cancels a task as CancelTask does, on behalf of the operator who.
func (e *Engine) CancelFor(ctx context.Context, key store.Key, who a2a.Caller) error {
	name, tenant := AgentOf(key.Tenant)
	who.Tenant, who.Scopes = "", []string{a2a.ScopeTasksCancelAll}
	_, err := e.Agent(name).CancelTask(a2a.WithCaller(ctx, who), &a2a.CancelTaskRequest{Tenant: tenant, ID: key.ID + a2a.OwnerMark + key.Owner})
	return err
}

// ErrAtWork is returned by Delete for a task that is at work: cancel it first.
var ErrAtWork = errors.New("engine: the task is at work")

// Delete deletes a task with its log. The error is ErrAtWork if the task is at work.
func (e *Engine) Delete(ctx context.Context, key store.Key) error {
	rec, err := e.store.Get(ctx, key, store.RowOnly)
	switch {
	case err != nil:
		return e.read.Unread(ctx, err, key)
	case rec.Active || !e.owners.Retire(key):
		return ErrAtWork
	}
	n, err := e.store.Delete(ctx, []store.Row{rec.Row})
	if err != nil {
		return fmt.Errorf("delete task %s: %w", key.ID, err)
	}
	if n == 0 {
		return ErrAtWork // the task went on meanwhile
	}
	e.deletedAll([]store.Row{rec.Row})
	return nil
}

// deletedAll tells the observer.
func (e *Engine) deletedAll(rows []store.Row) {
	if e.observer != nil {
		for i := range rows {
			e.observer.TaskDeleted(&rows[i])
		}
	}
}

// Collect deletes the idle tasks that x selects while the engine goes on working, and
// returns how many it deleted. It ignores x.Keep and x.Deleted.
func (e *Engine) Collect(ctx context.Context, x store.Expiry) (int, error) {
	x.Keep, x.Deleted = func(r *store.Row) bool { return !e.owners.Retire(r.Key) }, e.deletedAll
	return x.Run(ctx, e.store)
}

// DeliverAgain continues the deliveries of webhooks whose progress was set back in the
// store, and of dead letters that are to be sent again: at once if this process has them,
// otherwise soon.
func (e *Engine) DeliverAgain(ids []store.PushID) { e.outbox.Again(ids) }

// Standings returns the standing of each task that this process has in memory, in no
// particular order.
func (e *Engine) Standings() []Standing { return e.owners.Standings() }

// WaitOf returns what the task of a row waits for and since when; the time is zero if it
// is not known.
func (e *Engine) WaitOf(r *store.Row) (Waits, time.Time) { return e.owners.WaitOf(r) }
