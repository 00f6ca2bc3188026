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
	deleteTasks = 16  // per transaction
	deleteRows  = 256 // of their entries, push configs and dead letters
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
	return find(ctx, r, scan, func(c *conn) *stmt {
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
	return find(ctx, r, scan, func(c *conn) *stmt {
		st := c.stmt(sql)
		for _, state := range idle {
			st.int(int64(state))
		}
		return st
	})
}

// Delete implements store.Store. First the rows of tasks are deleted together with their
// receipts, which hides the tasks from all readers, and their keys are noted as doomed. Their
// other rows are removed in the same transaction if they are few, and otherwise in further
// ones. If the process dies in between, the next Delete continues.
func (s *Store) Delete(ctx context.Context, rows []store.Row) (int, error) {
	deleted := 0
	for part := range slices.Chunk(rows, deleteTasks) {
		n, err := s.doom(ctx, part)
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

// doom deletes those of rows that are unchanged, and begins to purge.
func (s *Store) doom(ctx context.Context, rows []store.Row) (n int, err error) {
	err = s.change(ctx, "delete", func(c *conn) (changed bool, err error) {
		n = 0
		if err := s.tally.begin(c); err != nil {
			return false, err
		}
		for i := range rows {
			gone, err := s.doomOne(c, &rows[i])
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
		if err := s.tally.write(c); err != nil {
			return false, err
		}
		_, err = c.purge()
		return true, err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// doomOne deletes the row and the receipts of a task if it is unchanged since its row was
// read. Receipts are found by their names, so they must be removed together with the row.
func (s *Store) doomOne(c *conn, r *store.Row) (gone bool, err error) {
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
	if err := c.stmt("DELETE FROM receipt WHERE task = ? AND task > 0").int(task).exec(); err != nil {
		return false, err
	}
	return true, c.stmt("INSERT INTO doomed (task) VALUES (?)").int(task).exec()
}

// purge removes a part of the doomed tasks. done means that there were none.
func (s *Store) purge(ctx context.Context) (done bool, err error) {
	err = s.change(ctx, "delete", func(c *conn) (changed bool, err error) {
		done, err = c.purge()
		return !done, err
	})
	return done && err == nil, err
}

// purges remove the rows of a task of which there may be many. Dead letters are removed before
// their push configs, so that no later config, which may get the same key, inherits them.
var purges = []string{
	"DELETE FROM letter WHERE (push, seq) IN (SELECT l.push, l.seq FROM push AS p JOIN letter AS l ON l.push = p.key WHERE p.task = ? LIMIT ?)",
	"DELETE FROM push WHERE key IN (SELECT key FROM push WHERE task = ? LIMIT ?)",
	"DELETE FROM entry WHERE key IN (SELECT key FROM entry WHERE task = ? ORDER BY last LIMIT ?)",
}

func (c *conn) purge() (done bool, err error) {
	tasks, err := collect(c.stmt("SELECT task FROM doomed LIMIT ?").int(deleteTasks), scanNumber)
	left := int64(deleteRows)
	for _, task := range tasks {
		for _, sql := range purges {
			if err := c.stmt(sql).int(task).int(left).exec(); err != nil {
				return false, err
			}
			if left -= c.Changes(); left == 0 { // there may be more
				return false, nil
			}
		}
		if err := c.strip(task); err != nil {
			return false, err
		}
	}
	return len(tasks) == 0, err
}

// strip removes what is left of a doomed task: its seal, and the blobs that no other task
// refers to.
func (c *conn) strip(task int64) error {
	if err := c.stmt("DELETE FROM seal WHERE task = ?").int(task).exec(); err != nil {
		return err
	}
	blobs, err := collect(c.stmt("DELETE FROM blob_task WHERE task = ? RETURNING blob").int(task), scanNumber)
	for _, b := range blobs {
		if err == nil {
			err = c.stmt("DELETE FROM blob WHERE key = ? AND NOT EXISTS (SELECT 1 FROM blob_task WHERE blob_task.blob = blob.key)").int(b).exec()
		}
	}
	if err != nil {
		return err
	}
	return c.stmt("DELETE FROM doomed WHERE task = ?").int(task).exec()
}

// lastKey returns the highest key of a task, including doomed ones. SQLite itself would give
// the key of a deleted task to the next one, which would inherit the rest of its log.
func (c *conn) lastKey() (key int64, err error) {
	key, _, err = c.stmt("SELECT max(coalesce((SELECT max(key) FROM task), 0), coalesce((SELECT max(task) FROM doomed), 0))").one()
	return key, err
}
