package postgres

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Now implements store.Store.
func (s *Store) Now(ctx context.Context) (time.Time, error) { panic("not written") }

// Beat implements store.Store.
func (s *Store) Beat(ctx context.Context, node string, now time.Time) error { panic("not written") }

// Leave implements store.Store.
func (s *Store) Leave(ctx context.Context, node string) error { panic("not written") }

// Claim implements store.Store.
func (s *Store) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	panic("not written")
}

// Draw implements store.Store.
func (s *Store) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	panic("not written")
}

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	panic("not written")
}
