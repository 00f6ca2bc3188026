package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Living returns the nodes that have beaten for the last time no longer than this
// ago, by the database's clock, and did not leave. It is for operators.
func (s *Store) Living(ctx context.Context, ago time.Duration) (nodes []string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, "SELECT name FROM parley.node WHERE NOT gone AND beat >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint ORDER BY name",
			ago.Milliseconds())
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		nodes = nil
		for _, name := range names {
			nodes = append(nodes, string(name))
		}
		return err
	})
	return nodes, wrap("read nodes", err)
}
