package postgres

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/store"
)

// SetPush implements store.Store.
func (s *Store) SetPush(ctx context.Context, p *store.PushConfig) error { panic("not written") }

// Push implements store.Store.
func (s *Store) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	panic("not written")
}

// Pushes implements store.Store.
func (s *Store) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	panic("not written")
}

// DropPush implements store.Store.
func (s *Store) DropPush(ctx context.Context, id store.PushID) error { panic("not written") }

// Advance implements store.Store.
func (s *Store) Advance(ctx context.Context, all []store.Advance) error { panic("not written") }

// ClaimPushes implements store.Store.
func (s *Store) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error) {
	panic("not written")
}

// LivePushes implements store.Store.
func (s *Store) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	panic("not written")
}
