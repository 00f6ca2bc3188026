package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// begin starts the goroutines that listen for hints and send them.
func (s *Store) begin() {}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, f func(store.Hint)) error {
	return s.hub.Watch(ctx, s.over.Done(), f)
}

// tell queues hints to be sent, once what they are about is committed.
func (s *Store) tell(hints ...store.Hint) {}
