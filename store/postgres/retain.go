package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// Idle implements store.Store.
func (s *Store) Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error) {
	panic("not written")
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, rows []store.Row) (int, error) { panic("not written") }
