package postgres

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Counting the tasks of a new scope takes seconds for each million, so other processes
// continue to write. Writes are blocked only while the scope is created and a snapshot is
// taken. Later writes are added to the tallies by their writers. The tasks of the snapshot
// are added page by page, by the process that created the scope. Until all are added, a row
// of parley.tally marks the scope as unfinished, and lists count. If the process ends, the
// row stays, and the next list causes the scope to be created again.

// countLock is the advisory lock of the one process that counts ("Prlu").
const countLock = 0x50726c75

const lockCount = "SELECT pg_try_advisory_xact_lock($1)"

// unfinished is the condition that a scope is not yet fully counted.
func unfinished(scope string) string {
	return "EXISTS (SELECT 1 FROM parley.tally AS b WHERE b.scope = " + scope + " AND b.state = 0 AND b.width = -1)"
}

// countPage is how many tasks are counted at a time. Not constant, for tests.
var countPage int64 = 16_384

// tasks returns the condition for the tasks of a scope, and its arguments.
func (n scopeName) tasks() (sql string, args []any) {
	sql, args = "tenant = $1 AND owner = $2", []any{arg(n.tenant), arg(n.owner)}
	if n.context != "" {
		sql += " AND context = $3"
		args = append(args, arg(n.context))
	}
	return sql, args
}

// countScope creates a scope and counts it, unless another process did so or is counting.
func (s *Store) countScope(ctx context.Context, name scopeName) error {
	// The lock ends at once with this transaction; it only shows whether it is free.
	free := false
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, lockCount, int64(countLock)).Scan(&free)
	})
	if !free || err != nil {
		return err
	}
	// This is not a connection of the pool, because it is used for long and the pool may have
	// only one.
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return err
	}
	defer leave(conn)
	key, err := s.makeScope(ctx, conn, name)
	if errors.Is(err, errCounting) {
		return nil
	}
	last := &countedUpTo{math.MinInt32, math.MinInt64}
	for more := key > 0; more && err == nil; {
		var m moves
		m.reset(nil)
		if more, err = s.countOne(ctx, conn, name, key, last, &m); err == nil {
			err = s.addCounts(ctx, key, &m, more)
		}
		if s.afterCount != nil && err == nil {
			s.afterCount()
		}
	}
	if key > 0 && err == nil && last.state == math.MinInt32 {
		s.shrank() // the deletion of its tasks ran before the scope was created and could not drop it
	}
	return err
}

// errCounting means that another process is counting.
var errCounting = errors.New("another process makes a tally")

// makeScope creates an unfinished scope, and opens a snapshot in conn that has all tasks
// written before. The key is 0 if the scope exists already.
func (s *Store) makeScope(ctx context.Context, conn *pgx.Conn, name scopeName) (key int64, err error) {
	names := []any{arg(name.tenant), arg(name.owner), arg(name.context)}
	var old []int64
	var snapshot pgx.Tx
	err = s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if snapshot != nil { // of an earlier attempt
			if err := snapshot.Rollback(ctx); err != nil {
				return err
			}
		}
		if err := lockTally(ctx, tx); err != nil {
			return err
		}
		old, err = collect(ctx, tx, intoNumber, "DELETE FROM parley.scope AS c WHERE c.tenant = $1 AND c.owner = $2 AND c.context = $3 AND "+unfinished("c.key")+" RETURNING c.key", names...)
		if err != nil {
			return err
		}
		err := tx.QueryRow(ctx, "INSERT INTO parley.scope (tenant, owner, context) VALUES ($1, $2, $3) ON CONFLICT (tenant, owner, context) DO NOTHING RETURNING key", names...).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO parley.tally (scope, state, width, piece, slot, n) VALUES ($1, 0, -1, 0, 0, 1)", key); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT nextval('parley.scope_change')"); err != nil {
			return err
		}
		if snapshot, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
			return err
		}
		free := false
		if err := snapshot.QueryRow(ctx, lockCount, int64(countLock)).Scan(&free); !free && err == nil {
			return errCounting
		} else {
			return err
		}
	})
	if len(old) > 0 && err == nil {
		_, err = s.exec(ctx, "tally", "DELETE FROM parley.tally WHERE scope = ANY ($1)", old)
	}
	return key, err
}

// countedUpTo is the last task that was counted, together with all others of the same time.
type countedUpTo struct {
	state   int32
	updated int64
}

// countOne adds the next page of a scope's tasks to m, as in conn's snapshot.
func (s *Store) countOne(ctx context.Context, conn *pgx.Conn, name scopeName, key int64, last *countedUpTo, m *moves) (more bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.wait, errSlow)
	defer cancel()
	of, args := name.tasks()
	page := "SELECT state, updated FROM parley.task WHERE " + of + " AND (state, updated) > (" + param(len(args)+1) + ", " + param(len(args)+2) + ") " +
		"ORDER BY state, updated FETCH FIRST " + strconv.FormatInt(countPage, 10) + " ROWS WITH TIES"
	all := int64(0)
	err = each(ctx, conn, func(r pgx.Rows) error {
		var state int32
		var piece, n, updated int64
		if err := r.Scan(&state, &piece, &n, &updated); err != nil {
			return err
		}
		m.add(key, state, piece<<narrowPiece, n)
		all += n
		if state > last.state || state == last.state && updated > last.updated {
			*last = countedUpTo{state, updated}
		}
		return nil
	}, "SELECT t.state, t.updated >> "+strconv.Itoa(narrowPiece)+", count(*), max(t.updated) FROM ("+page+") AS t GROUP BY 1, 2", append(args, last.state, last.updated)...)
	return all >= countPage, err
}

// addCounts writes the counts of a page. After the last page, the scope is no longer
// unfinished.
func (s *Store) addCounts(ctx context.Context, key int64, m *moves, more bool) error {
	return s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.shareTally(ctx, tx); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, "SELECT "+unfinished("$1::bigint"), key).Scan(&there); err != nil {
			return err
		}
		if !there {
			return errNoScope
		}
		if err := s.addMoves(ctx, tx, m); more || err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM parley.tally WHERE scope = $1 AND state = 0 AND width = -1", key)
		return err
	})
}

// errNoScope means that a scope was dropped while it was counted.
var errNoScope = errors.New("its tasks were deleted meanwhile")

// forgetScopes drops all scopes, because a store without advisory locks does not update
// tallies.
func (s *Store) forgetScopes(ctx context.Context) error {
	any := false
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM parley.scope)").Scan(&any)
	})
	if !any || err != nil {
		return err
	}
	err = s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, sql := range []string{"DELETE FROM parley.scope", "TRUNCATE parley.tally", "SELECT nextval('parley.scope_change')"} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if is(err, "25006") { // a standby, for a command that only reads
		return nil
	}
	return err
}
