package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
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
	t, err := a2a.ReadTimeline(e.entries(ctx, key, last), limit)
	if err == nil {
		for _, en := range t.Entries[max(0, len(t.Entries)-limit):] {
			if err = e.read.RestoreEntry(ctx, en.Entry, nil); err != nil {
				err = fmt.Errorf("entry %d: %w", en.Seq, err)
				break
			}
		}
	}
	if err != nil {
		return nil, e.read.Unread(ctx, err, key)
	}
	return t.Of(task, limit), nil
}

// entries yields a log up to last, without the content that is stored apart from it. It yields
// an error if the log ends before last: the task was deleted meanwhile.
func (e *Engine) entries(ctx context.Context, key store.Key, last int64) iter.Seq2[*a2a.Entry, error] {
	return func(yield func(*a2a.Entry, error) bool) {
		n := int64(0)
		for raw, err := range store.EachEntry(ctx, e.store, key, 0, last) {
			var en *a2a.Entry
			if err == nil {
				en, err = a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
			}
			if !yield(en, err) || err != nil {
				return
			}
			n++
		}
		if n < last {
			yield(nil, stored.ErrIncomplete)
		}
	}
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
