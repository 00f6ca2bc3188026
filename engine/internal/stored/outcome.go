package stored

import (
	"errors"
	"slices"

	"github.com/parley-a2a/parley/store"
)

// refused are the outcomes of a write that say nothing about the store.
var refused = []error{store.ErrConflict, store.ErrLeaseLost, store.ErrDuplicate, store.ErrNotFound, store.ErrClosed}

// Lasting reports whether a failed write is of the kind that does not pass by
// itself.
func Lasting(err error) bool {
	return errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrReadOnly)
}

// Certain reports whether an append that failed with err had no effect.
func Certain(err error) bool {
	return slices.ContainsFunc(refused, func(r error) bool { return errors.Is(err, r) })
}
