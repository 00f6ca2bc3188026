package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

const allPushes = "SELECT " + pushResult + ", t.last, p.key" + pushOf + "WHERE p.key > $1 ORDER BY p.key LIMIT $2"

// AllPushes returns up to limit push configs of all tasks and nodes, live or
// not, in the order of LivePushes, from behind the one whose At is after; 0: from
// the first. limit must be at least 1. It is for operators, and looks at every
// config.
func (s *Store) AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error) {
	return s.pushStates(ctx, allPushes, limit, after, limit)
}
