package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/store"
)

// A task may be deleted while it is read, by the sweeper, another process or
// an operator. The store never shows a part of it, but a reader asks several
// times: for the record, the log, the blobs. What misses a part asks whether
// the task is still there.

// errIncomplete says that something a task refers to is not in the store.
var errIncomplete = errors.New("a part of the task is missing")

// unread turns an error of reading a task into what the caller gets.
func (e *Engine) unread(ctx context.Context, err error, key store.Key) error {
	if errors.Is(err, errIncomplete) && e.deleted(ctx, key) || errors.Is(err, store.ErrNotFound) {
		return errNotFound(key.ID)
	}
	return failed(err, "read task "+key.ID)
}

// deleted reports whether a task that was there is gone. If it cannot be
// known it is not.
func (e *Engine) deleted(ctx context.Context, key store.Key) bool {
	_, err := e.store.Get(ctx, key, store.RowOnly)
	return errors.Is(err, store.ErrNotFound)
}
