package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Appends wait while a step of a deletion runs, so steps are small: some short tasks as a
// whole, or a part of a long one.
const (
	deleteTasks   = 16  // per transaction
	deleteEntries = 128 // and as many push configs, and as many of their dead letters
)

// Idle implements store.Store.
func (r *Reader) Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	sql := "SELECT " + columns + " FROM task INDEXED BY task_idle WHERE active = 0 AND state = ? AND updated < ?"
	if q.After != nil {
		// The first term is for the index, which has only the time.
		sql += " AND updated >= ? AND (updated, tenant, owner, id) > (?, ?, ?, ?)"
	}
	return find(ctx, r, "task", scan, func(c *conn) *stmt {
		st := c.stmt(sql + " ORDER BY updated, tenant, owner, id LIMIT ?").int(int64(q.State)).time(q.Before)
		if a := q.After; a != nil {
			st.time(a.Updated).time(a.Updated).text(a.Tenant).text(a.Owner).text(a.ID)
		}
		return st.int(int64(q.Limit))
	})
}

// AllWork counts the tasks that are Active or in one of the idle states, by tenant and state,
// in any order. It is for operators.
func (r *Reader) AllWork(ctx context.Context, idle []int32) ([]store.Work, error) {
	sql := "SELECT tenant, state, count(*) FROM (SELECT tenant, state FROM task INDEXED BY task_active WHERE active = 1 UNION ALL " +
		"SELECT tenant, state FROM task INDEXED BY task_idle WHERE active = 0 AND state IN (NULL" + strings.Repeat(", ?", len(idle)) + ")) GROUP BY tenant, state"
	scan := func(r *sqlite3.Stmt) store.Work {
		return store.Work{Tenant: r.ColumnText(0), State: int32(r.ColumnInt64(1)), Tasks: r.ColumnInt(2)}
	}
	return find(ctx, r, "task", scan, func(c *conn) *stmt {
		st := c.stmt(sql)
		for _, state := range idle {
			st.int(int64(state))
		}
		return st
	})
}

// Delete implements store.Store. Several short tasks are deleted in one transaction. If a
// task is long, or has many push configs or dead letters, its row is deleted first, which
// hides the task from all readers, and its key is noted as doomed; then its log is deleted in
// steps. If the process dies in between, the next Delete continues.
func (s *Store) Delete(ctx context.Context, rows []store.Row) (int, error) {
	deleted := 0
	for part := range slices.Chunk(rows, deleteTasks) {
		n, err := s.deletePart(ctx, part)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	for {
		done, err := s.purge(ctx)
		if done || err != nil {
			return deleted, err
		}
	}
}

func (s *Store) deletePart(ctx context.Context, rows []store.Row) (n int, err error) {
	err = s.change(ctx, "delete", func(c *conn) (changed bool, err error) {
		n = 0
		if err := s.tally.begin(c); err != nil {
			return false, err
		}
		for i := range rows {
			gone, err := s.delete(c, &rows[i])
			if err != nil {
				return false, err
			}
			if gone {
				n++
			}
		}
		if n == 0 {
			return false, nil
		}
		return true, s.tally.write(c)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// delete removes one task if it is unchanged since its row was read.
func (s *Store) delete(c *conn, r *store.Row) (gone bool, err error) {
	task := int64(-1)
	was := store.Row{Key: r.Key}
	err = c.stmt("DELETE FROM task WHERE tenant = ? AND owner = ? AND id = ? AND last = ? AND epoch = ? AND updated = ? RETURNING key, context, state, updated").
		text(r.Tenant).text(r.Owner).text(r.ID).int(r.Last).int(r.Epoch).time(r.Updated).
		each(func(r *sqlite3.Stmt) error {
			task, was.Context, was.State, was.Updated = r.ColumnInt64(0), r.ColumnText(1), int32(r.ColumnInt64(2)), milli(r.ColumnInt64(3))
			return nil
		})
	if task < 0 || err != nil {
		return false, err
	}
	if err := s.tally.moved(c, task, &was, nil); err != nil {
		return false, err
	}
	rest, err := c.dropPushes(task)
	if err != nil {
		return false, err
	}
	if rest || r.Last > deleteEntries { // there are at most as many rows as entries
		// Receipts are found by their names, so they must be removed together with the row.
		if err := c.stmt("DELETE FROM receipt WHERE task = ? AND task > 0").int(task).exec(); err != nil {
			return false, err
		}
		return true, c.stmt("INSERT INTO doomed (task) VALUES (?)").int(task).exec()
	}
	if err := c.stmt("DELETE FROM entry WHERE task = ?").int(task).exec(); err != nil {
		return false, err
	}
	return true, c.strip(task)
}

// strip removes everything of a task besides its row and its log: the seal, the receipts, and
// the blobs that no other task refers to.
func (c *conn) strip(task int64) error {
	if err := c.stmt("DELETE FROM seal WHERE task = ?").int(task).exec(); err != nil {
		return err
	}
	if err := c.stmt("DELETE FROM receipt WHERE task = ? AND task > 0").int(task).exec(); err != nil {
		return err
	}
	blobs, err := collect(c.stmt("DELETE FROM blob_task WHERE task = ? RETURNING blob").int(task), scanNumber)
	for _, b := range blobs {
		if err == nil {
			err = c.stmt("DELETE FROM blob WHERE key = ? AND NOT EXISTS (SELECT 1 FROM blob_task WHERE blob_task.blob = blob.key)").int(b).exec()
		}
	}
	return err
}

// purge removes a part of the doomed tasks. done means that nothing is left.
func (s *Store) purge(ctx context.Context) (done bool, err error) {
	err = s.change(ctx, "delete", func(c *conn) (changed bool, err error) {
		task, there, err := c.stmt("SELECT task FROM doomed LIMIT 1").one()
		if done = !there; done || err != nil {
			return false, err
		}
		if rest, err := c.dropPushes(task); rest || err != nil {
			return true, err
		}
		err = c.stmt("DELETE FROM entry WHERE key IN (SELECT key FROM entry WHERE task = ? ORDER BY last LIMIT ?)").
			int(task).int(deleteEntries).exec()
		if err != nil || c.Changes() == deleteEntries {
			return true, err
		}
		if err := c.strip(task); err != nil {
			return false, err
		}
		return true, c.stmt("DELETE FROM doomed WHERE task = ?").int(task).exec()
	})
	return done && err == nil, err
}

// lastKey returns the highest key of a task, including doomed ones. SQLite itself would give
// the key of a deleted task to the next one, which would inherit the rest of its log.
func (c *conn) lastKey() (key int64, err error) {
	key, _, err = c.stmt("SELECT max(coalesce((SELECT max(key) FROM task), 0), coalesce((SELECT max(task) FROM doomed), 0))").one()
	return key, err
}
