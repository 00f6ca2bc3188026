package engine

import (
	"bytes"
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// An operation learns how large a task is, makes room for it in the hold of its
// call, and then reads. The hold is the server's, which gives back what it takes as
// the answer shrinks to its encoded form and goes out. Callers within the process
// have none: they are not counted.

const (
	// readCost is how often a task that is read is in memory at a time: as it is
	// stored, as it is decoded, and as it is encoded, in base64 perhaps.
	readCost = 4
	// pageBytes is how large a page of a list may be, in bytes of stored tasks,
	// unless its only task is larger.
	pageBytes = 4 << 20
)

// makeRoom waits for the memory that size bytes of stored tasks take.
func makeRoom(ctx context.Context, size int64) error {
	return budget.From(ctx).Ensure(ctx, readCost*size)
}

// whole returns a task's record with its seal, once there is room for it.
func (e *Engine) whole(ctx context.Context, key store.Key) (*store.Record, error) {
	rec, err := e.store.Get(ctx, key, budget.Small)
	if err != nil || rec.Size <= budget.Small {
		return rec, err
	}
	if err := makeRoom(ctx, rec.Size); err != nil {
		return nil, err
	}
	if !a2a.TaskState(rec.State).Terminal() {
		return rec, nil // its log is its content
	}
	return e.store.Get(ctx, key, store.Whole)
}

// sizeOf returns how large a task is, 0 if it is not there.
func (e *Engine) sizeOf(ctx context.Context, key store.Key) (int64, error) {
	rec, err := e.store.Get(ctx, key, 1)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, failed(err, "read task "+key.ID)
	}
	return rec.Size, nil
}

// makeRoomFor is makeRoom for a task of which the size is not known yet. Without a
// hold it asks nobody.
func (e *Engine) makeRoomFor(ctx context.Context, key store.Key) error {
	if budget.From(ctx) == nil {
		return nil
	}
	size, err := e.sizeOf(ctx, key)
	if err != nil {
		return err
	}
	return makeRoom(ctx, size)
}

// page reads a page of a list. One that is small needs no room. Of one that is not
// the sizes are known then, so that there is one wait for all that it takes.
func (e *Engine) page(ctx context.Context, q *store.Query) (*store.Page, error) {
	q.MaxBytes = budget.Small
	p, err := e.store.List(ctx, *q)
	if err != nil || !endedEarly(p, q) {
		return p, err
	}
	if size := p.Records[0].Size; size > pageBytes {
		return p, makeRoom(ctx, size) // see listedWhole
	}
	if err := makeRoom(ctx, pageBytes); err != nil {
		return nil, err
	}
	q.MaxBytes = pageBytes
	return e.store.List(ctx, *q)
}

// endedEarly reports whether a page ended by its bytes, or has a task without its seal for
// being too large.
func endedEarly(p *store.Page, q *store.Query) bool {
	n := len(p.Records)
	return p.More && n < q.Limit || n == 1 && p.Records[0].Size > q.MaxBytes
}

// listedWhole makes the task of a record that a page of at most pageBytes has. One
// that is larger has come without its seal.
func (e *Engine) listedWhole(ctx context.Context, rec *store.Record, artifacts bool) (*a2a.Task, error) {
	if rec.Size > pageBytes {
		whole, err := e.whole(ctx, rec.Key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, errNotFound(rec.ID)
		}
		if err != nil {
			return nil, failed(err, "read task "+rec.ID)
		}
		rec = whole
	} else if rec.Seal != nil && !artifacts && bytes.Contains(rec.Seal.Head, []byte(blobScheme)) {
		// The size is of the head alone, without what it refers to.
		if err := e.makeRoomFor(ctx, rec.Key); err != nil {
			return nil, err
		}
	}
	return e.task(ctx, rec, artifacts)
}
