package engine

import (
	"context"
	"errors"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// load returns a task as committed, and the seq up to which it is folded.
func (e *Engine) load(ctx context.Context, key store.Key) (*a2a.Task, int64, error) {
	t := e.join(key)
	defer e.leave(t)
	return e.loadAt(ctx, t)
}

// held is loadAt for a task whose owner is here. If the store has to be asked the task
// is nil.
func (e *Engine) held(ctx context.Context, t *topic) (*a2a.Task, int64, error) {
	// Where others may go on with the task, who asks may have heard from one of them
	// what is committed and not published here yet.
	task, last := t.newest()
	if task == nil {
		return nil, 0, nil
	}
	ok, err := e.trusted(ctx, t)
	switch {
	case err != nil:
		return nil, 0, err
	case ok && last == 0:
		return nil, 0, stored.NotFound(t.key.ID) // nothing committed: it does not exist yet
	case ok:
		return task, last, nil
	}
	return nil, 0, nil
}

func (e *Engine) loadAt(ctx context.Context, t *topic) (*a2a.Task, int64, error) {
	if task, last, err := e.held(ctx, t); task != nil || err != nil {
		return task, last, err
	}
	rec, err := e.read.Whole(ctx, t.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, stored.NotFound(t.key.ID)
	}
	if err != nil {
		return nil, 0, stored.Failed(err, "read task "+t.key.ID)
	}
	task, err := e.read.Task(ctx, rec, true)
	if known, last := t.snapshot(); known != nil && last > 0 && last < rec.Last && !t.contested() {
		// The task got an owner here meanwhile, and its newest commit is not
		// published yet: who looks next must not see less than who looks now.
		return known, last, nil
	}
	return task, rec.Last, err
}

// standing returns what a message has to know of its task before the task's owner
// sees it: context, state and the last entry. The log may be long, and is not read.
func (e *Engine) standing(ctx context.Context, t *topic) (store.Row, error) {
	switch task, last, err := e.held(ctx, t); {
	case err != nil:
		return store.Row{}, err
	case task != nil:
		return store.Row{Context: task.ContextID, State: int32(task.Status.State), Last: last}, nil
	}
	rec, err := e.store.Get(ctx, t.key, store.RowOnly)
	if err != nil {
		return store.Row{}, e.read.Unread(ctx, err, t.key)
	}
	return rec.Row, nil
}

// siblings yields an owner's other tasks of a context, newest first.
func (e *Engine) siblings(ctx context.Context, self store.Key, contextID string) iter.Seq2[*a2a.Task, error] {
	return func(yield func(*a2a.Task, error) bool) {
		q := store.Query{Tenant: self.Tenant, Owner: self.Owner, Context: contextID, Limit: 20, Body: true, MaxBytes: stored.PageBytes}
		for {
			var page *store.Page
			err := e.lasting(ctx, func() (err error) {
				page, err = e.store.List(ctx, q)
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
				err := e.lasting(ctx, func() (err error) {
					task, err = e.read.ListedWhole(ctx, rec, true)
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
