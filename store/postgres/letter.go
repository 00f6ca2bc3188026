package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// DeadLetters implements store.Store.
func (s *Store) DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error) {
	panic("not written")
}

// SetLetters implements store.Store.
func (s *Store) SetLetters(ctx context.Context, letters []store.DeadLetter, gone bool) error {
	panic("not written")
}
