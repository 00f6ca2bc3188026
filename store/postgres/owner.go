package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// Now implements store.Store. It is the server's clock, not the time of the transaction,
// which stands still.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	micros, err := findOne(ctx, s.db, "now", intoNumber, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMicro(*micros).UTC(), nil
}

// Beat implements store.Store.
func (s *Store) Beat(ctx context.Context, node string, now time.Time) error {
	ahead := false
	err := s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, "INSERT INTO parley.node AS n (name, beat, gone) VALUES ($1, $2, false) ON CONFLICT (name) DO UPDATE SET beat = excluded.beat, gone = false "+
			"RETURNING EXISTS (SELECT 1 FROM parley.node AS d WHERE "+aheadOfClock+")", arg(node), now.UnixMilli()).Scan(&ahead)
	})
	if err != nil {
		return wrap("beat", err)
	}
	if ahead {
		// In a separate statement, so that concurrent beats of two nodes do not wait for each
		// other.
		_, err = s.exec(ctx, "set back beats", "UPDATE parley.node SET beat = "+clockMillis+" WHERE name IN (SELECT d.name FROM parley.node AS d WHERE "+aheadOfClock+" FOR UPDATE SKIP LOCKED)")
	}
	return err
}

// clockMillis is the server's time. Beats are times of that clock. A beat ahead of it dates
// from before the clock was set back, or from a primary with another clock. A living node
// soon beats again, but a dead one would seem alive until the clock reaches that time.
const (
	clockMillis  = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	aheadOfClock = "NOT d.gone AND d.beat > " + clockMillis + " + 1000" // tolerance for the time that a clock request takes
)

// Leave implements store.Store.
func (s *Store) Leave(ctx context.Context, node string) error {
	_, err := s.exec(ctx, "leave", "INSERT INTO parley.node AS n (name, beat, gone) VALUES ($1, 0, true) ON CONFLICT (name) DO UPDATE SET gone = true", arg(node))
	if err == nil {
		s.tell(store.Hint{Work: true})
	}
	return err
}

// AllNodes returns the nodes that are registered or left and are not yet forgotten, by name.
// It is for operators.
func (s *Store) AllNodes(ctx context.Context) ([]store.NodeState, error) {
	return find(ctx, s.db, "read nodes", func(n *store.NodeState) []any {
		return []any{(*name)(&n.Name), (*millis)(&n.Beat), &n.Left}
	}, `SELECT name, nullif(beat, 0), gone FROM parley.node ORDER BY name`)
}

// Living returns the nodes whose last beat is at most ago old by the database's clock, and
// that did not leave. It is for operators.
func (d *db) Living(ctx context.Context, ago time.Duration) ([]string, error) {
	return find(ctx, d, "read nodes", intoName,
		"SELECT name FROM parley.node WHERE NOT gone AND beat >= "+clockMillis+" - $1::bigint ORDER BY name", ago.Milliseconds())
}

// free is the condition under which the rows of the node called name may be taken by the node
// $1; other nodes are dead if their last beat was before $2.
func free(name string) string {
	return name + " <> $1 AND NOT EXISTS (SELECT 1 FROM parley.node AS d WHERE d.name = " + name + " AND NOT d.gone AND d.beat >= $2)"
}

// lostOf is the beginning of a statement that defines lost, the names of the nodes whose rows
// of a table may be taken. It uses an index on node that has only the rows that can be taken
// at all. It steps from name to name in the index, however many rows a node has, so it does
// not read the rows of the claimer or of living nodes.
func lostOf(table, which, behind string) string {
	next := "(SELECT x.node FROM " + table + " AS x WHERE " + which + " AND x.node > "
	order := " ORDER BY x.node LIMIT 1)"
	first := next + behind + order
	if behind == "" {
		first = "(SELECT x.node FROM " + table + " AS x WHERE " + which + order
	}
	return "WITH RECURSIVE n (name) AS (" + first + " UNION ALL SELECT " + next + "n.name" + order + " FROM n WHERE n.name IS NOT NULL), " +
		"lost AS MATERIALIZED (SELECT n.name FROM n WHERE n.name IS NOT NULL AND " + free("n.name") + ") "
}

// giveLost gives rows of lost nodes to another node. It skips rows that another transaction
// has locked, so it never waits: either another claimer takes them, or their owner is not
// dead after all and is checked again later. The keys are an array so that no plan scans the
// table.
var giveLost = lostOf("parley.task", "x.active", "''::bytea") + give +
	"WHERE t.key = ANY (ARRAY(SELECT p.key FROM lost CROSS JOIN LATERAL (" +
	"SELECT x.key FROM parley.task AS x WHERE x.active AND x.node = lost.name LIMIT $3 FOR UPDATE SKIP LOCKED) AS p LIMIT $3)) RETURNING " + columns

// give is the part of a statement that gives tasks to the node $1.
const give = "UPDATE parley.task AS t SET node = $1, epoch = t.epoch + 1, " +
	"lost = t.lost + CASE WHEN t.node = '' OR EXISTS (SELECT 1 FROM parley.node AS g WHERE g.name = t.node AND g.gone) THEN 0 ELSE 1 END "

// forget removes nodes that left or died, if they have no active tasks. Since it is a
// separate statement with its own snapshot, it sees that rows skipped by giveLost still
// belong to them. A node that left in an orderly way must not be forgotten earlier, or its
// tasks would count as lost.
const forget = "DELETE FROM parley.node AS n WHERE n.name = ANY (ARRAY(SELECT o.name FROM parley.node AS o WHERE o.name <> $1 AND (o.gone OR o.beat < $2) " +
	"AND NOT EXISTS (SELECT 1 FROM parley.task AS t WHERE t.active AND t.node = o.name) FOR UPDATE SKIP LOCKED))"

// Claim implements store.Store. Its cost depends on what it claims, not on the number of
// tasks.
func (s *Store) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	limit = max(limit, 0)
	var claimed []store.Row
	err := s.write(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		claimed, err = collect(ctx, tx, intoRow, giveLost, arg(node), deadBefore.UnixMilli(), limit)
		if err == nil && len(claimed) < limit {
			_, err = tx.Exec(ctx, forget, arg(node), deadBefore.UnixMilli())
		}
		return err
	})
	if err != nil {
		return nil, wrap("claim", err)
	}
	return claimed, nil
}

// giveOne is giveLost and a draw for one task. It waits for the task's row.
var giveOne = give + "WHERE t.tenant = $3 AND t.owner = $4 AND t.id = $5 AND t.active AND (t.node = '' OR " + free("t.node") + ") RETURNING " + columns

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	var taken []store.Row
	err := s.write(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		taken, err = collect(ctx, tx, intoRow, giveOne, arg(node), deadBefore.UnixMilli(), arg(k.Tenant), arg(k.Owner), arg(k.ID))
		return err
	})
	switch {
	case err != nil:
		return nil, wrap("take", err)
	case len(taken) == 0:
		return nil, store.ErrNotFound
	}
	return &taken[0], nil
}
