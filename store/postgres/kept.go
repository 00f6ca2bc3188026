package postgres

import (
	"context"
)

// Secret implements store.Store.
func (s *Store) Secret(ctx context.Context, name string) ([]byte, error) { panic("not written") }

// Keep implements store.Store.
func (s *Store) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	panic("not written")
}

// Kept implements store.Store.
func (s *Store) Kept(ctx context.Context) (map[string][]byte, error) { panic("not written") }
