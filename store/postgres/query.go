package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, k store.Key, body bool) (*store.Record, error) {
	panic("not written")
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, q store.Query) (*store.Page, error) { panic("not written") }

// Owners implements store.Store.
func (s *Store) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	panic("not written")
}

// Rows implements store.Store.
func (s *Store) Rows(ctx context.Context, keys []store.Key) ([]store.Row, error) {
	panic("not written")
}

// Tasks implements store.Store.
func (s *Store) Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error) {
	panic("not written")
}
