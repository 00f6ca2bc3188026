package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// Post implements store.Store.
func (s *Store) Post(ctx context.Context, all []store.Mail) error { panic("not written") }

// Mail implements store.Store.
func (s *Store) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	panic("not written")
}
