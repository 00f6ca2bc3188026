package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// Receipt implements store.Store.
func (s *Store) Receipt(ctx context.Context, k store.Key, name string) (*store.Receipt, error) {
	panic("not written")
}

// Receipts implements store.Store.
func (s *Store) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	panic("not written")
}

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, q store.ForgetQuery) (int, error) { panic("not written") }
