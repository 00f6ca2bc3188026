package postgres

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// Deletions go in steps, so that no step holds locks for long and a failed step is quickly
// repeated.
const (
	deleteTasks = 64  // per transaction
	deleteParts = 256 // entries, or other rows of the deleted tasks
)

// Idle implements store.Store.
func (s *Store) Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	sql := "SELECT " + columns + " FROM parley.task AS t WHERE NOT t.active AND t.state = $1 AND t.updated < $2"
	args := []any{q.State, q.Before.UnixMilli()}
	if a := q.After; a != nil {
		// The first term is for the index, which has only the time.
		sql += " AND t.updated >= $3 AND (t.updated, t.tenant, t.owner, t.id) > ($3, $4, $5, $6)"
		args = append(args, a.Updated.UnixMilli(), arg(a.Tenant), arg(a.Owner), arg(a.ID))
	}
	found, err := find(ctx, s.db, "look for idle tasks", intoRow, sql+" ORDER BY t.updated, t.tenant, t.owner, t.id LIMIT "+round(q.Limit), args...)
	return found[:min(len(found), q.Limit)], err
}

// AllWork counts the tasks that are Active or in one of the idle states, by tenant and state,
// in any order. It is for operators.
func (s *Store) AllWork(ctx context.Context, idle []int32) ([]store.Work, error) {
	return find(ctx, s.db, "count tasks", func(w *store.Work) []any { return []any{(*name)(&w.Tenant), &w.State, &w.Tasks} },
		"SELECT t.tenant, t.state, count(*) FROM (SELECT tenant, state FROM parley.task WHERE active UNION ALL "+
			"SELECT tenant, state FROM parley.task WHERE NOT active AND state = ANY($1)) AS t GROUP BY t.tenant, t.state", idle)
}

// Delete implements store.Store. First the rows of tasks are deleted together with their
// receipts, which hides the tasks from all readers, and their keys are noted as doomed. Their
// remaining rows are deleted in steps of a fixed size. If the process dies in between, the
// next Delete of any process continues. Processes that delete at the same time share the
// steps.
func (s *Store) Delete(ctx context.Context, rows []store.Row) (int, error) {
	deleted := 0
	for part := range slices.Chunk(rows, deleteTasks) {
		n, err := s.doom(ctx, part)
		deleted += n
		if err != nil {
			return deleted, wrap("delete", err)
		}
	}
	for {
		done, err := s.purge(ctx)
		if done || err != nil {
			return deleted, wrap("delete", err)
		}
	}
}

// doom deletes those of rows that are unchanged, and notes their keys.
func (s *Store) doom(ctx context.Context, rows []store.Row) (n int, err error) {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b store.Row) int { return a.Key.Compare(b.Key) }) // the order in which others lock them
	tenants, owners, ids := split(values(rows, func(r store.Row) store.Key { return r.Key }))
	last := values(rows, func(r store.Row) int64 { return r.Last })
	epoch := values(rows, func(r store.Row) int64 { return r.Epoch })
	updated := values(rows, func(r store.Row) int64 { return r.Updated.UnixMilli() })
	err = s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		n = 0
		if err := s.shareTally(ctx, tx); err != nil {
			return err
		}
		gone, err := collect(ctx, tx, intoRow, doomTasks, tenants, owners, ids, last, epoch, updated)
		if n = len(gone); n == 0 || err != nil {
			return err
		}
		return s.uncount(ctx, tx, gone)
	})
	if err != nil {
		return 0, err
	}
	s.shrank()
	return n, nil
}

// doomTasks waits for appends to a task, and then checks that it is still the same. Receipts
// are found by their names, so they are deleted together with the row.
const doomTasks = "WITH d AS (DELETE FROM parley.task AS t WHERE t.key = ANY (ARRAY(" +
	"SELECT f.key FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[]) AS w (tenant, owner, id, last, epoch, updated) " +
	"CROSS JOIN LATERAL (SELECT t.key FROM parley.task AS t WHERE t.tenant = w.tenant AND t.owner = w.owner AND t.id = w.id " +
	"AND t.last = w.last AND t.epoch = w.epoch AND t.updated = w.updated FOR UPDATE) AS f)) RETURNING t.key, " + columns + "), " +
	"n AS (INSERT INTO parley.doomed (task) SELECT key FROM d), " +
	"r AS (DELETE FROM parley.receipt AS r WHERE r.task = ANY (ARRAY(SELECT key FROM d)) AND r.task > 0) " +
	"SELECT " + columns + " FROM d AS t"

// purge removes a part of the doomed tasks. done means that nothing is left, except what
// other transactions are removing.
func (s *Store) purge(ctx context.Context) (done bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tasks, err := collect(ctx, tx, intoNumber, "SELECT task FROM parley.doomed ORDER BY task LIMIT "+strconv.Itoa(deleteTasks)+" FOR UPDATE SKIP LOCKED")
		if done = len(tasks) == 0; done || err != nil {
			return err
		}
		for _, part := range []func(context.Context, pgx.Tx, []int64) (more bool, err error){purgePushes, purgeEntries, purgeBlobs} {
			if more, err := part(ctx, tx, tasks); more || err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "DELETE FROM parley.doomed WHERE task = ANY ($1)", tasks)
		return err
	})
	return done && err == nil, err
}

// purgePushes removes push configs with their dead letters. A config is locked before its
// dead letters are read: a concurrent transaction has either added its dead letter already,
// or will find no config.
func purgePushes(ctx context.Context, tx pgx.Tx, tasks []int64) (more bool, err error) {
	pushes, err := collect(ctx, tx, intoNumber, lockPushes, tasks)
	if len(pushes) == 0 || err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, purgeLetters, pushes)
	if n.RowsAffected() == deleteParts || err != nil {
		return true, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM parley.push WHERE key = ANY ($1)", pushes)
	return len(pushes) == deleteParts, err
}

// some is deleteParts as text in statements: a constant shows the planner that few rows are
// deleted.
var some = strconv.Itoa(deleteParts)

// Tasks and configs are read one by one, so that the planner does not expect many rows in
// total and scan a table.
var lockPushes = "SELECT p.key FROM unnest($1::bigint[]) AS w (task) CROSS JOIN LATERAL (" +
	"SELECT p.key FROM parley.push AS p WHERE p.task = w.task ORDER BY p.id LIMIT " + some + " FOR UPDATE) AS p LIMIT " + some

var purgeLetters = "DELETE FROM parley.letter AS l USING (SELECT i.push, i.seq FROM unnest($1::bigint[]) AS w (push) CROSS JOIN LATERAL (" +
	"SELECT i.push, i.seq FROM parley.letter AS i WHERE i.push = w.push ORDER BY i.seq LIMIT " + some + ") AS i LIMIT " + some + ") AS d " +
	"WHERE l.push = d.push AND l.seq = d.seq"

func purgeEntries(ctx context.Context, tx pgx.Tx, tasks []int64) (more bool, err error) {
	n, err := tx.Exec(ctx, purgeLogs, tasks)
	return n.RowsAffected() == deleteParts, err
}

var purgeLogs = "DELETE FROM parley.entry AS e USING (SELECT i.task, i.last FROM unnest($1::bigint[]) AS w (task) CROSS JOIN LATERAL (" +
	"SELECT i.task, i.last FROM parley.entry AS i WHERE i.task = w.task ORDER BY i.last LIMIT " + some + ") AS i LIMIT " + some + ") AS d " +
	"WHERE e.task = d.task AND e.last = d.last"

// purgeBlobs removes the blobs of doomed tasks that no other task refers to. Appends lock the
// blobs that they refer to, see parts. Here the blobs are locked first, and then another
// statement checks for references; it sees everything committed until then.
func purgeBlobs(ctx context.Context, tx pgx.Tx, tasks []int64) (more bool, err error) {
	hashes, err := collect(ctx, tx, intoBytes, purgeUses, tasks)
	if len(hashes) == 0 || err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, "SELECT 1 FROM parley.blob WHERE hash = ANY ($1) ORDER BY hash FOR UPDATE", hashes); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM parley.blob AS b WHERE b.hash = ANY ($1) AND NOT EXISTS (SELECT 1 FROM parley.blob_task AS c WHERE c.hash = b.hash)", hashes)
	return len(hashes) == deleteParts, err
}

var purgeUses = "DELETE FROM parley.blob_task AS c USING (SELECT i.task, i.hash FROM unnest($1::bigint[]) AS w (task) CROSS JOIN LATERAL (" +
	"SELECT i.task, i.hash FROM parley.blob_task AS i WHERE i.task = w.task ORDER BY i.hash LIMIT " + some + ") AS i LIMIT " + some + ") AS d " +
	"WHERE c.task = d.task AND c.hash = d.hash RETURNING c.hash"
