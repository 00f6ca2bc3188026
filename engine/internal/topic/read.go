package topic

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Load is LoadAt for callers without a topic.
func (ts *Topics) Load(ctx context.Context, key store.Key) (*a2a.Task, int64, error) {
	t := ts.Join(key)
	defer ts.Leave(t)
	return ts.LoadAt(ctx, t)
}

// held is LoadAt for a task whose owner is here. It returns a nil task if the store has to be
// asked.
func (ts *Topics) held(ctx context.Context, t *Topic) (*a2a.Task, int64, error) {
	task, last, o, open := t.holding()
	if task == nil {
		return nil, 0, nil
	}
	if o != nil && (open || ts.Lapsed()) {
		if ok, err := ts.Verify(ctx, o, last > 0); !ok {
			return nil, 0, err
		}
	}
	if last == 0 {
		return nil, 0, stored.NotFound(t.Key.ID) // nothing is committed: the task does not exist yet
	}
	return task, last, nil
}

// LoadAt returns a task as committed, and the seq up to which it is folded.
func (ts *Topics) LoadAt(ctx context.Context, t *Topic) (*a2a.Task, int64, error) {
	if task, last, err := ts.held(ctx, t); task != nil || err != nil {
		return task, last, err
	}
	rec, err := ts.read.Whole(ctx, t.Key)
	if err != nil {
		return nil, 0, ts.read.Unread(ctx, err, t.Key)
	}
	task, err := ts.read.Task(ctx, rec, true)
	if known, last := t.unpublished(rec.Last); known != nil {
		return known, last, nil // the task got an owner here meanwhile
	}
	return task, rec.Last, err
}

// Standing returns what is checked of a task before its owner gets a message: context, state
// and the last entry. The log may be long, and is not read.
func (ts *Topics) Standing(ctx context.Context, t *Topic) (store.Row, error) {
	switch task, last, err := ts.held(ctx, t); {
	case err != nil:
		return store.Row{}, err
	case task != nil:
		return store.Row{Context: task.ContextID, State: int32(task.Status.State), Last: last}, nil
	}
	rec, err := ts.store.Get(ctx, t.Key, store.RowOnly)
	if err != nil {
		return store.Row{}, ts.read.Unread(ctx, err, t.Key)
	}
	return rec.Row, nil
}

// Verify reports whether the task is o's according to the store; if nothing of it is written
// yet, it need not be there. Otherwise Verify evicts o.
func (ts *Topics) Verify(ctx context.Context, o Owner, written bool) (bool, error) {
	rec, err := ts.store.Get(ctx, o.Key(), store.RowOnly)
	switch {
	case errors.Is(err, store.ErrNotFound) && !written:
		return true, nil
	case errors.Is(err, store.ErrNotFound): // another process deleted it
	case err != nil:
		return false, stored.Failed(err, "read task "+o.Key().ID)
	case o.Has(&rec.Row):
		return true, nil
	}
	o.Evict()
	return false, nil
}

// Peek returns a task without joining its readers: from the cache, or from the store as it is
// now. It returns nil if the task has a reader or an owner here, because they may know more of
// it, or have been shown less so far.
func (ts *Topics) Peek(ctx context.Context, key store.Key, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return ts.read.Peek(ctx, key, req, func() bool { return ts.meets(key) })
}

// Attach returns the task with which a subscription begins, and the seq up to
// which it is folded.
func (ts *Topics) Attach(ctx context.Context, t *Topic, req *a2a.SubscribeToTaskRequest) (*a2a.Task, int64, error) {
	after := req.After
	finishedToo := req.Legacy != nil && req.Legacy.FinishedToo
	task, last, err := ts.LoadAt(ctx, t)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case after == 0 && task.Status.State.Terminal() && !finishedToo:
		return nil, 0, stored.About(t.Key.ID, a2a.CodeUnsupportedOperation, "the task is finished, there is nothing to subscribe to; use GetTask")
	case after == 0 || after == last:
		return task, last, nil
	case after < 0 || after > last:
		return nil, 0, a2a.Invalid("Last-Event-ID", "is not an event of this task; leave it out to begin with the task as it stands")
	}
	if err := ts.read.MakeRoomFor(ctx, t.Key); err != nil {
		return nil, 0, err
	}
	task, err = ts.read.FoldTo(ctx, t.Key, after)
	return task, after, err
}

// Siblings yields an owner's other tasks of a context, newest first.
func (ts *Topics) Siblings(ctx context.Context, self store.Key, contextID string) iter.Seq2[*a2a.Task, error] {
	return func(yield func(*a2a.Task, error) bool) {
		q := store.Query{Tenant: self.Tenant, Owner: self.Owner, Context: contextID, Limit: 20, Body: true, MaxBytes: stored.PageBytes}
		for {
			var page *store.Page
			err := ts.Lasting(ctx, func() (err error) {
				page, err = ts.store.List(ctx, q)
				return err
			})
			if err != nil {
				yield(nil, stored.Failed(err, "list context"))
				return
			}
			for i := range page.Records {
				rec := &page.Records[i]
				q.Before = &store.Position{Updated: rec.Updated, ID: rec.ID}
				if rec.ID == self.ID {
					continue
				}
				var task *a2a.Task
				err := ts.Lasting(ctx, func() (err error) {
					task, err = ts.read.ListedWhole(ctx, rec, true)
					return err
				})
				if errors.Is(err, a2a.ErrTaskNotFound) {
					continue // deleted since
				}
				if !yield(task, err) || err != nil {
					return
				}
			}
			if !page.More {
				return
			}
		}
	}
}

// Lasting repeats an agent's read that failed because a shared store was unreachable, once the
// store is back: an outage that the task's writes survive must not fail the task. In a long
// outage another process takes the task over, and ctx ends.
func (ts *Topics) Lasting(ctx context.Context, read func() error) error {
	for {
		bad := read()
		if err := ts.outlast(ctx, bad); bad == nil || err != nil {
			return err
		}
		if ts.stopping() {
			return stored.Stopping()
		}
	}
}

// outlast waits, if err says that a shared store is unreachable, until the store is back, and
// returns nil: callers that wait for news of a task go on waiting. It returns any other error.
func (ts *Topics) outlast(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrUnreachable) {
		return err
	}
	ts.Wrote(err) // so that the store is tried until it works
	select {
	case <-ts.Recovered():
	case <-ts.draining:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	wake.Pause(ctx, rand.N(100*time.Millisecond)) // not all at once
	return nil
}

// LastOf returns the seq of the last visible entry of a task, and the task's state there.
func (ts *Topics) LastOf(ctx context.Context, key store.Key) (int64, a2a.TaskState, error) {
	t := ts.Join(key)
	defer ts.Leave(t)
	row, err := ts.Standing(ctx, t)
	return row.Last, a2a.TaskState(row.State), err
}

// At returns the seq of the last entry of a task, and the task's state there; 0 if nothing of
// it is committed.
func (ts *Topics) At(ctx context.Context, t *Topic) (last int64, _ a2a.TaskState, _ error) {
	if g := t.look(); g.known {
		return g.last, g.state, nil
	}
	rec, err := ts.store.Get(ctx, t.Key, store.RowOnly)
	if err != nil {
		return 0, 0, ts.read.Unread(ctx, err, t.Key)
	}
	return rec.Last, a2a.TaskState(rec.State), nil
}
