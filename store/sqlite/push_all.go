package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

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
	var found []store.PushState
	err := r.readTable(ctx, "push", func(c *conn) error {
		return c.stmt("SELECT " + pushColumns + ", t.last, p.key FROM push AS p JOIN task AS t ON t.key = p.task WHERE p.key > ? ORDER BY p.key LIMIT ?").
			int(after).int(int64(limit)).
			each(func(r *sqlite3.Stmt) error {
				found = append(found, store.PushState{PushConfig: scanPush(r), Last: r.ColumnInt64(14), At: r.ColumnInt64(15)})
				return nil
			})
	})
	return found, wrap("read push configs", err)
}
