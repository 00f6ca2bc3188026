package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// wrap adds what was attempted, and the reason of the failure if it is known, to errors that
// no caller tests for.
func wrap(what string, err error) error {
	if err == nil || err == store.ErrClosed {
		return err
	}
	return classified(fmt.Errorf("sqlite: %s: %w", what, err))
}

// classified adds the reason of the failure, if it is known.
func classified(err error) error { return store.Because(err, classOf(err)) }

// classOf returns the error for operators that err amounts to, or nil.
func classOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR_SHMSIZE), isOneOf(err, fullErrors):
		return store.ErrFull
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, refused), errors.Is(err, sqlite3.PERM),
		errors.Is(err, fs.ErrPermission), isOneOf(err, readOnlyErrors):
		return store.ErrReadOnly
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED), isOneOf(err, busyErrors):
		return store.ErrBusy
	}
	return nil
}

func isOneOf(err error, of []error) bool {
	return slices.ContainsFunc(of, func(e error) bool { return errors.Is(err, e) })
}
