package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// AllNodes returns the nodes that are registered or left and are not forgotten yet,
// by name. It is for operators.
func (r *Reader) AllNodes(ctx context.Context) ([]store.NodeState, error) {
	return find(ctx, r, "node", scanNode, func(c *conn) *stmt {
		return c.sql("SELECT name, beat, gone FROM node ORDER BY name")
	})
}

func scanNode(r *sqlite3.Stmt) store.NodeState {
	n := store.NodeState{Name: r.ColumnText(0), Left: r.ColumnBool(2)}
	if beat := r.ColumnInt64(1); beat > 0 {
		n.Beat = time.UnixMilli(beat).UTC()
	}
	return n
}
