package postgres

import (
	"context"
	"time"
)

// Living returns the nodes that have beaten for the last time no longer than this
// ago, by the database's clock, and did not leave. It is for operators.
func (s *Store) Living(ctx context.Context, ago time.Duration) ([]string, error) {
	return find(ctx, s.db, "read nodes", intoName,
		"SELECT name FROM parley.node WHERE NOT gone AND beat >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint ORDER BY name", ago.Milliseconds())
}
