package stored

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// An operation learns how large a task is, reserves memory in the hold of its call, and then
// reads. The hold is the server's, which gives memory back as the answer shrinks to its encoded
// form and is sent. Callers within the process have no hold: they are not counted.

// Reader reads tasks from the store.
type Reader struct {
	store store.Store // tells the cache of deletions: see cache.over
	cache *cache      // of finished tasks; may be nil
}

// New returns a reader of st that keeps finished tasks of up to cached bytes in memory; 0 means
// the default, less than 0 no cache. From then on tasks must be deleted through the store that
// New returns.
func New(st store.Store, cached int64) (*Reader, store.Store) {
	c := newCache(cached)
	st = c.over(st)
	return &Reader{st, c}, st
}

const (
	// readCost is how many times a task is in memory while it is read: stored, decoded, and
	// encoded, perhaps in base64.
	readCost = 4
	// PageBytes is how large a page of a list may be, in bytes of stored tasks, unless its only
	// task is larger.
	PageBytes = 4 << 20
)

// MakeRoom waits for the memory that size bytes of stored tasks take.
func MakeRoom(ctx context.Context, size int64) error {
	return budget.From(ctx).Ensure(ctx, readCost*size)
}

// MakeRoomFor is MakeRoom for a task whose size is not known yet. Without a hold it does
// nothing.
func (r *Reader) MakeRoomFor(ctx context.Context, key store.Key) error {
	if budget.From(ctx) == nil {
		return nil
	}
	rec, err := r.store.Get(ctx, key, 1)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // the read that follows reports it
	case err != nil:
		return Failed(err, "read task "+key.ID)
	}
	return MakeRoom(ctx, rec.Size)
}

// Whole returns a task's record with its seal, once there is memory for it.
func (r *Reader) Whole(ctx context.Context, key store.Key) (*store.Record, error) {
	rec, err := r.store.Get(ctx, key, budget.Small)
	if err != nil || rec.Size <= budget.Small {
		return rec, err
	}
	if err := MakeRoom(ctx, rec.Size); err != nil {
		return nil, err
	}
	if !a2a.TaskState(rec.State).Terminal() {
		return rec, nil // its log is its content
	}
	return r.store.Get(ctx, key, store.Whole)
}

// Task makes the Task of a record, from its seal if it has one, else by
// folding its log up to rec.Last.
func (r *Reader) Task(ctx context.Context, rec *store.Record, artifacts bool) (*a2a.Task, error) {
	if rec.Seal != nil {
		task, err := Unseal(rec.Seal, artifacts)
		if err == nil {
			err = r.restoreTask(ctx, task)
		}
		if errors.Is(err, ErrIncomplete) {
			return nil, r.Unread(ctx, err, rec.Key)
		}
		if err != nil {
			return nil, fmt.Errorf("read sealed task %s: %w", rec.ID, err)
		}
		if task.Generation == 0 { // sealed by a release that did not count
			if task.Generation, err = r.count(ctx, rec); err != nil {
				return nil, err
			}
		}
		return task, nil
	}
	task, err := r.FoldTo(ctx, rec.Key, rec.Last)
	if err != nil {
		return nil, err
	}
	if !artifacts {
		task.Artifacts = nil
	}
	return task, nil
}

// Peek returns a task from the cache, or from the store as it is now. It returns nil if met
// says that the task has a reader or an owner here, because they may know more of it, or have
// been shown less so far.
func (r *Reader) Peek(ctx context.Context, key store.Key, req *a2a.GetTaskRequest, met func() bool) (*a2a.Task, error) {
	if met() {
		return nil, nil
	}
	if f, ok := r.cache.get(key); ok {
		if task, err := f.task(req); task != nil || err != nil {
			return task, err
		}
	}
	epoch := r.cache.filling(key)
	rec, err := r.Whole(ctx, key)
	switch {
	case err != nil:
		return nil, r.Unread(ctx, err, key)
	case met():
		// The task got an owner here meanwhile, whose newest commit may not be published yet: a
		// later look must not show less than an earlier one.
		return nil, nil
	}
	if rec.Seal != nil && len(rec.Seal.Body) > 0 {
		f := finishedOf(rec)
		task, err := f.task(req)
		if task != nil && Final(task) {
			r.cache.put(&f, epoch)
		}
		if task != nil || err != nil {
			return task, err
		}
	}
	task, err := r.Task(ctx, rec, true)
	if err != nil {
		return nil, err
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// Exists reports whether a task exists.
func (r *Reader) Exists(ctx context.Context, k store.Key) (bool, error) {
	if _, ok := r.cache.get(k); ok {
		return true, nil
	}
	_, err := r.store.Get(ctx, k, store.RowOnly)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Keep caches a task that an append has finished, because it is likely to be read soon. Its
// owner still exists, so the task cannot be deleted meanwhile.
func (r *Reader) Keep(a *store.Append) { r.cache.keep(a) }

// Page reads a page of a list. A small page needs no reserved memory. A larger one is read
// again once there is memory for all of it, so that it waits only once.
func (r *Reader) Page(ctx context.Context, q *store.Query) (*store.Page, error) {
	q.MaxBytes = budget.Small
	p, err := r.store.List(ctx, *q)
	if err != nil || !endedEarly(p, q) {
		return p, err
	}
	if size := p.Records[0].Size; size > PageBytes {
		return p, MakeRoom(ctx, size) // see ListedWhole
	}
	if err := MakeRoom(ctx, PageBytes); err != nil {
		return nil, err
	}
	q.MaxBytes = PageBytes
	return r.store.List(ctx, *q)
}

// endedEarly reports whether a page ended because of its size, or has a task without its seal
// because it is too large.
func endedEarly(p *store.Page, q *store.Query) bool {
	n := len(p.Records)
	return p.More && n < q.Limit || n == 1 && p.Records[0].Size > q.MaxBytes
}

// Listed returns a task of a page in the form that the request asks for.
func (r *Reader) Listed(ctx context.Context, rec *store.Record, req *a2a.ListTasksRequest) (*a2a.Task, error) {
	if s := rec.Seal; req.Encoded && s != nil && (!req.IncludeArtifacts || len(s.Body) > 0) {
		f := finishedOf(rec)
		if task := f.encoded(s.Body, req.HistoryLength); task != nil { // without a body in a list without artifacts
			return task, nil
		}
	}
	task, err := r.ListedWhole(ctx, rec, req.IncludeArtifacts)
	if err != nil {
		return nil, err
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// ListedWhole makes the task of a record from a page of at most PageBytes. A larger task comes
// without its seal and is read here.
func (r *Reader) ListedWhole(ctx context.Context, rec *store.Record, artifacts bool) (*a2a.Task, error) {
	if rec.Size > PageBytes {
		whole, err := r.Whole(ctx, rec.Key)
		if err != nil {
			return nil, r.Unread(ctx, err, rec.Key)
		}
		rec = whole
	} else if rec.Seal != nil && !artifacts && Refers(rec.Seal.Head) {
		// rec.Size is the size of the head alone, without the content that it refers to.
		if err := r.MakeRoomFor(ctx, rec.Key); err != nil {
			return nil, err
		}
	}
	return r.Task(ctx, rec, artifacts)
}
