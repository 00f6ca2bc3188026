package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// Append implements store.Store.
func (s *Store) Append(a *store.Append, done func(error)) { s.group.Append(a, done) }

func (s *Store) commit(batch []*store.Append) []error { panic("not written") }

// Entries implements store.Store.
func (s *Store) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	panic("not written")
}

// Blob implements store.Store.
func (s *Store) Blob(ctx context.Context, hash string) ([]byte, error) { panic("not written") }

// Blobs implements store.Store.
func (s *Store) Blobs(ctx context.Context, k store.Key) ([]string, error) { panic("not written") }
