package sqlite

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// AllPushes returns up to limit push configs of all tasks and nodes, live or
// not, in the order in which they were made, from behind the one whose At is
// after; 0: from the first. limit must be at least 1. It is for operators, and
// looks at every config.
func (r *Reader) AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	found, err := find(ctx, r, "push", scanPushState, func(c *conn) *stmt {
		return c.stmt("SELECT " + pushColumns + ", t.last, p.key FROM push AS p JOIN task AS t ON t.key = p.task WHERE p.key > ? ORDER BY p.key LIMIT ?").
			int(after).int(int64(limit))
	})
	return found, wrap("read push configs", err)
}
