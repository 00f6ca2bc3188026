package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Appends wait while a step of a deletion is under way, so steps are small:
// some tasks that go as a whole, or a part of a long one.
const (
	deleteTasks   = 16  // per transaction
	deleteEntries = 128 // and as many push configs, and as many of their letters
)

// Idle implements store.Store.
func (r *Reader) Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	sql := "SELECT " + columns + " FROM task INDEXED BY task_idle WHERE active = 0 AND state = ? AND updated < ?"
	if q.After != nil {
		// The first term is for the index, which has no more than the time.
		sql += " AND updated >= ? AND (updated, tenant, owner, id) > (?, ?, ?, ?)"
	}
	var rows []store.Row
	err := r.read(ctx, func(c *conn) error {
		st := c.stmt(sql + " ORDER BY updated, tenant, owner, id LIMIT ?").int(int64(q.State)).time(q.Before)
		if a := q.After; a != nil {
			st.time(a.Updated).time(a.Updated).text(a.Tenant).text(a.Owner).text(a.ID)
		}
		return st.int(int64(q.Limit)).each(func(r *sqlite3.Stmt) error {
			rows = append(rows, scan(r))
			return nil
		})
	})
	return rows, err
}

// Delete implements store.Store. Short tasks go in one transaction for some of
// them. Of a long one, or one of many push configs or dead letters, first the row goes, which is when it is gone for
// everybody, and its key is noted as doomed; then its log, in steps. If the
// process dies in between, the next Delete goes on.
func (s *Store) Delete(ctx context.Context, rows []store.Row) (int, error) {
	deleted := 0
	for part := range parts(rows) {
		n, err := s.deletePart(ctx, part)
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

// parts divides rows.
func parts(rows []store.Row) func(func([]store.Row) bool) {
	return func(yield func([]store.Row) bool) {
		for len(rows) > 0 {
			n := min(len(rows), deleteTasks)
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

func (s *Store) deletePart(ctx context.Context, rows []store.Row) (n int, err error) {
	err = s.write(ctx, func(c *conn) error {
		err := some(c.transaction(func() error {
			n = 0
			if err := s.tally.begin(c); err != nil {
				return err
			}
			for i := range rows {
				gone, err := s.delete(c, &rows[i])
				if err != nil {
					return err
				}
				if gone {
					n++
				}
			}
			if n == 0 {
				return errNothing
			}
			return s.tally.write(c)
		}))
		if err != nil {
			s.tally.forget()
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// some turns the end of a transaction that had nothing to do into none.
func some(err error) error {
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// delete removes one task if it is as its row says.
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
	if rest || r.Last > deleteEntries { // at most as many rows as entries
		// Receipts are seen by their names: they go with the row.
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

// strip removes what a task has besides its row and its log: the seal, the
// receipts, and the blobs that were its alone.
func (c *conn) strip(task int64) error {
	if err := c.stmt("DELETE FROM seal WHERE task = ?").int(task).exec(); err != nil {
		return err
	}
	if err := c.stmt("DELETE FROM receipt WHERE task = ? AND task > 0").int(task).exec(); err != nil {
		return err
	}
	var blobs []int64
	err := c.stmt("DELETE FROM blob_task WHERE task = ? RETURNING blob").int(task).
		each(func(r *sqlite3.Stmt) error { blobs = append(blobs, r.ColumnInt64(0)); return nil })
	for _, b := range blobs {
		if err == nil {
			err = c.stmt("DELETE FROM blob WHERE key = ? AND NOT EXISTS (SELECT 1 FROM blob_task WHERE blob_task.blob = blob.key)").int(b).exec()
		}
	}
	return err
}

// purge removes a part of what is doomed. done means that nothing is left.
func (s *Store) purge(ctx context.Context) (done bool, err error) {
	err = s.write(ctx, func(c *conn) error {
		return some(c.transaction(func() error {
			task := int64(-1)
			err := c.stmt("SELECT task FROM doomed LIMIT 1").
				each(func(r *sqlite3.Stmt) error { task = r.ColumnInt64(0); return nil })
			if err != nil {
				return err
			}
			if task < 0 {
				done = true
				return errNothing
			}
			if rest, err := c.dropPushes(task); rest || err != nil {
				return err
			}
			err = c.stmt("DELETE FROM entry WHERE key IN (SELECT key FROM entry WHERE task = ? ORDER BY last LIMIT ?)").
				int(task).int(deleteEntries).exec()
			if err != nil || c.Changes() == deleteEntries {
				return err
			}
			if err := c.strip(task); err != nil {
				return err
			}
			return c.stmt("DELETE FROM doomed WHERE task = ?").int(task).exec()
		}))
	})
	return done && err == nil, err
}

// lastKey returns the highest key that a task has or that is still taken by
// what is left of one. SQLite itself would give the key of a deleted task to
// the next one, which would inherit the rest of its log.
func (c *conn) lastKey() (key int64, err error) {
	err = c.stmt("SELECT max(coalesce((SELECT max(key) FROM task), 0), coalesce((SELECT max(task) FROM doomed), 0))").
		each(func(r *sqlite3.Stmt) error { key = r.ColumnInt64(0); return nil })
	return key, err
}
