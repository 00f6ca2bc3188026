package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// peek returns a task without meeting its readers: from the cache, or from the
// store as it is now. It is nil if somebody here reads or owns the task, who may
// know more of it, or less that everybody else was told.
func (e *Engine) peek(ctx context.Context, key store.Key, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if e.meets(key) {
		return nil, nil
	}
	if f, ok := e.cache.get(key); ok {
		if task, err := f.task(req); task != nil || err != nil {
			return task, err
		}
	}
	epoch := e.cache.filling(key)
	rec, err := e.whole(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, errNotFound(key.ID)
	case err != nil:
		return nil, failed(err, "read task "+key.ID)
	case e.meets(key):
		// It got an owner here meanwhile, and its newest commit is perhaps not
		// published yet: who looks next must not see less than who looks now.
		return nil, nil
	}
	if rec.Seal != nil && len(rec.Seal.Body) > 0 {
		f := finishedOf(rec)
		task, err := f.task(req)
		if task != nil && final(task) {
			e.cache.put(&f, epoch)
		}
		if task != nil || err != nil {
			return task, err
		}
	}
	task, err := e.task(ctx, rec, true)
	if err != nil {
		return nil, err
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// meets reports whether somebody here reads or owns a task.
func (e *Engine) meets(k store.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.topics[k] != nil
}

// listed returns a task of a page as the request wants it.
func (e *Engine) listed(ctx context.Context, rec *store.Record, req *a2a.ListTasksRequest) (*a2a.Task, error) {
	if s := rec.Seal; req.Encoded && s != nil && (!req.IncludeArtifacts || len(s.Body) > 0) {
		f := finishedOf(rec)
		if task := f.encoded(s.Body, req.HistoryLength); task != nil { // without a body in a list without artifacts
			return task, nil
		}
	}
	task, err := e.listedWhole(ctx, rec, req.IncludeArtifacts)
	if err != nil {
		return nil, err
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// final reports whether a finished task can never change.
func final(t *a2a.Task) bool {
	return !mayFollow(t.Status.State, a2a.TaskStateSubmitted, t.Version.Reopens())
}

func finishedOf(rec *store.Record) finished {
	return finished{
		key: rec.Key, context: rec.Context, state: a2a.TaskState(rec.State), updated: rec.Updated,
		head: rec.Seal.Head, body: rec.Seal.Body,
	}
}

// task returns what a request asks for, encoded if it takes that; nil if not all
// of the task is in its bytes.
func (f *finished) task(req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if req.Encoded {
		if task := f.encoded(f.body, req.HistoryLength); task != nil {
			return task, nil
		}
	}
	task := f.encoded(f.body, nil)
	if task == nil {
		return nil, nil
	}
	if err := task.Decode(); err != nil {
		return nil, failed(err, "read sealed task "+f.key.ID)
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// encoded returns the task as its bytes have it, without its artifacts if body is
// nil, or nil: see a2a.ReadStored.
func (f *finished) encoded(body []byte, history *int32) *a2a.Task {
	task := a2a.ReadStored(f.head, body, history)
	if task != nil {
		task.ID, task.ContextID = f.key.ID, f.context
		task.Status.State, task.Status.Timestamp = f.state, f.updated
	}
	return task
}
