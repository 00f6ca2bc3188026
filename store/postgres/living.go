package postgres

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/store"
)

// AllNodes returns the nodes that are registered or left and are not forgotten yet,
// by name. It is for operators.
func (s *Store) AllNodes(ctx context.Context) ([]store.NodeState, error) {
	return find(ctx, s.db, "read nodes", func(n *store.NodeState) []any {
		return []any{(*name)(&n.Name), (*millis)(&n.Beat), &n.Left}
	}, `SELECT name, nullif(beat, 0), gone FROM parley.node ORDER BY name`)
}

// Living returns the nodes that have beaten for the last time no longer than this
// ago, by the database's clock, and did not leave. It is for operators.
func (d *db) Living(ctx context.Context, ago time.Duration) ([]string, error) {
	return find(ctx, d, "read nodes", intoName,
		"SELECT name FROM parley.node WHERE NOT gone AND beat >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint ORDER BY name", ago.Milliseconds())
}
