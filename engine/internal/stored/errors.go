package stored

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// A task may be deleted while it is read, by the sweeper, another process or an operator. The
// store never shows a part of it, but a reader asks several times: for the record, the log, the
// blobs. A reader that misses a part checks whether the task still exists.

// ErrIncomplete says that something that a task refers to is not in the store.
var ErrIncomplete = errors.New("a part of the task is missing")

// Unread turns an error of reading a task into the error for the caller.
func (r *Reader) Unread(ctx context.Context, err error, key store.Key) error {
	if errors.Is(err, ErrIncomplete) && r.Deleted(ctx, key) || errors.Is(err, store.ErrNotFound) {
		return NotFound(key.ID)
	}
	return Failed(err, "read task "+key.ID)
}

// Deleted reports whether a task that existed is deleted. If that cannot be known, it returns
// false.
func (r *Reader) Deleted(ctx context.Context, key store.Key) bool {
	_, err := r.store.Get(ctx, key, store.RowOnly)
	return errors.Is(err, store.ErrNotFound)
}

// NotFound returns the error for a task that does not exist.
func NotFound(id string) *a2a.Error { return About(id, a2a.CodeTaskNotFound, "task not found") }

// About returns an error about a task.
func About(id string, code a2a.Code, format string, args ...any) *a2a.Error {
	return &a2a.Error{Code: code, Message: fmt.Sprintf(format, args...), Meta: map[string]string{"taskId": id}}
}

// Failed wraps a store's error with what was tried. If the store was closed during a call, the
// server is stopping. If the store is unreachable, it may be back soon.
func Failed(err error, what string) error {
	if errors.Is(err, store.ErrClosed) {
		return Stopping()
	}
	err = fmt.Errorf("%s: %w", what, err)
	if errors.Is(err, store.ErrUnreachable) && !errors.Is(err, a2a.ErrUnavailable) {
		return &a2a.Error{
			Code:    a2a.CodeUnavailable,
			Message: "the database cannot be reached at the moment; try again shortly",
			Cause:   err,
		}
	}
	return err
}

// Unwritten returns the error for a task that the store cannot take at the moment.
func Unwritten(cause error) *a2a.Error {
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "the task cannot be written at the moment; ask for it again shortly",
		Cause:   cause,
	}
}

// Stopping returns the error that callers get while the engine drains.
func Stopping() error {
	return a2a.Errorf(a2a.CodeUnavailable, "the server is stopping; try again shortly")
}

// refused are the errors of writes that had no effect; they say nothing about the health of the
// store.
var refused = []error{store.ErrConflict, store.ErrLeaseLost, store.ErrDuplicate, store.ErrNotFound, store.ErrClosed}

// Lasting reports whether a write failed for a reason that does not go away by itself.
func Lasting(err error) bool {
	return errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrReadOnly)
}

// Certain reports whether an append that failed with err had no effect.
func Certain(err error) bool {
	return slices.ContainsFunc(refused, func(r error) bool { return errors.Is(err, r) })
}
