package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// timeline adds to a task what the 1.1 draft shows of its log up to last: the n newest entries
// of its timeline and the generations of its artifacts. If n is nil, the task stays as it is.
// The log is read once; no more than a page of it and n entries are in memory at a time.
func (e *Engine) timeline(ctx context.Context, key store.Key, task *a2a.Task, last int64, n *int32) (*a2a.Task, error) {
	if n == nil || task == nil {
		return task, nil
	}
	if err := e.read.MakeRoomFor(ctx, key); err != nil {
		return nil, err
	}
	limit := min(int(*n), a2a.MaxTimeline)
	t, err := a2a.ReadTimeline(e.read.Log(ctx, key, last), limit)
	if err == nil {
		for _, en := range t.Entries[max(0, len(t.Entries)-limit):] {
			if err = e.read.RestoreEntry(ctx, en.Entry); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, e.read.Unread(ctx, err, key)
	}
	return t.Of(task, limit), nil
}

// listed returns a task of a page in the form that the request asks for.
func (e *Engine) listed(ctx context.Context, rec *store.Record, req *a2a.ListTasksRequest) (*a2a.Task, error) {
	if req.TimelineLength == nil {
		return e.read.Listed(ctx, rec, req)
	}
	r := *req
	r.Encoded = false
	task, err := e.read.Listed(ctx, rec, &r)
	if err != nil {
		return nil, err
	}
	return e.timeline(ctx, rec.Key, task, rec.Last, req.TimelineLength)
}
