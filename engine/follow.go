package engine

import (
	"context"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// poll is how often a reader asks the store for a task that nobody owns in
// this process, in case a hint never came.
const poll = 5 * time.Second

// follow yields a task's events behind a cursor until end says that a state is
// the last. It returns true if it got there, false if the reader left, the
// context ended (its error was yielded), or the engine drains (the stream ends
// without a word, to be resumed).
func (e *Engine) follow(ctx context.Context, t *topic, cursor int64, end func(a2a.TaskState) bool, yield func(*a2a.StreamResponse, error) bool) bool {
	var timer *time.Timer
	for {
		entries, known, changed := t.after(cursor)
		if !known {
			var err error
			if entries, err = e.behind(ctx, t.key, cursor); err != nil {
				yield(nil, err)
				return false
			}
		}
		for _, en := range entries {
			cursor = en.Seq
			ev := en.Event()
			if ev == nil {
				continue
			}
			if !yield(ev, nil) {
				return false
			}
			if s := ev.State(); s.Valid() && end(s) {
				return true
			}
		}
		if len(entries) > 0 {
			continue
		}
		var again <-chan time.Time
		if !known {
			if err := t.failure(); err != nil {
				yield(nil, err)
				return false
			}
			if timer == nil {
				timer = time.NewTimer(poll)
				defer timer.Stop()
			} else {
				timer.Reset(poll)
			}
			again = timer.C
		}
		select {
		case <-changed:
		case <-again:
		case <-e.draining:
			return false
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return false
		}
	}
}

// behind reads the next entries behind a cursor from the store, for readers
// that the tail in memory does not serve.
func (e *Engine) behind(ctx context.Context, key store.Key, cursor int64) ([]sized, error) {
	const page = 512
	entries, err := e.entries(ctx, key, cursor, cursor+page)
	if err != nil {
		return nil, failed(err, "read task "+key.ID)
	}
	out := make([]sized, len(entries))
	for i, en := range entries {
		out[i].Entry = en
	}
	return out, nil
}

// await waits until the task is in a state that end accepts, as committed.
func (e *Engine) await(ctx context.Context, t *topic, end func(a2a.TaskState) bool) error {
	var timer *time.Timer
	for {
		if e.stopping() {
			return errStopping()
		}
		state, known, changed := t.watch()
		var again <-chan time.Time
		if !known {
			rec, err := e.store.Get(ctx, t.key, false)
			if err != nil {
				return failed(err, "read task "+t.key.ID)
			}
			state = a2a.TaskState(rec.State)
			if timer == nil {
				timer = time.NewTimer(poll)
				defer timer.Stop()
			} else {
				timer.Reset(poll)
			}
			again = timer.C
		}
		if end(state) {
			return nil
		}
		if err := t.failure(); err != nil && !known {
			return err
		}
		select {
		case <-changed:
		case <-again:
		case <-e.draining:
			return errStopping()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SubscribeToTask implements a2a.Service (specification §3.1.6). A stream with
// a cursor is served on a finished task, too: it has a rest to deliver.
func (e *Engine) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if err := e.gate.stream(); err != nil {
			yield(nil, err)
			return
		}
		if err := req.Validate(); err != nil {
			yield(nil, err)
			return
		}
		t := e.join(keyOf(ctx, req.Tenant, req.ID))
		defer e.leave(t)
		task, cursor, err := e.attach(ctx, t, req.After)
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(&a2a.StreamResponse{Task: task, Seq: cursor}, nil) || task.Status.State.Terminal() {
			return
		}
		e.follow(ctx, t, cursor, a2a.TaskState.Terminal, yield)
	}
}

// attach returns the task with which a subscription begins, and the seq up to
// which it is folded.
func (e *Engine) attach(ctx context.Context, t *topic, after int64) (*a2a.Task, int64, error) {
	task, last, err := e.loadAt(ctx, t)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case after == 0 && task.Status.State.Terminal():
		return nil, 0, &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: "the task is finished, there is nothing to subscribe to; use GetTask",
			Meta:    map[string]string{"taskId": t.key.ID},
		}
	case after == 0 || after == last:
		return task, last, nil
	case after < 0 || after > last:
		return nil, 0, a2a.Invalid("Last-Event-ID", "is not an event of this task; leave it out to begin with the task as it stands")
	}
	task, err = e.foldTo(ctx, t.key, after)
	return task, after, err
}

// keyOf returns the key of a task id in the caller's scope.
func keyOf(ctx context.Context, tenant, id string) store.Key {
	k := scope(ctx, tenant)
	k.ID = id
	return k
}
