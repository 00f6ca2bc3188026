package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// setPush writes a push config of a task.
func (c *conn) setPush(task int64, p *store.PushConfig) error {
	return c.stmt("INSERT INTO push (task, id, host, body, created, node, live, cursor, tries, since, due, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT (task, id) DO UPDATE SET host = excluded.host, body = excluded.body, created = excluded.created, node = excluded.node, live = excluded.live, " +
		"cursor = excluded.cursor, tries = excluded.tries, since = excluded.since, due = excluded.due, reason = excluded.reason").
		int(task).text(p.ID).text(p.Host).blob(p.Body).time(p.Created).text(p.Node).bool(p.Live).progress(&p.Progress).exec()
}

// progress binds cursor, tries, since, due and reason.
func (s *stmt) progress(p *store.Progress) *stmt {
	return s.int(p.Cursor).int(int64(p.Tries)).maybe(p.Since).maybe(p.Due).text(p.Reason)
}

// maybe binds a time, NULL where it is zero.
func (s *stmt) maybe(t time.Time) *stmt {
	if t.IsZero() {
		return s.null()
	}
	return s.time(t)
}

const pushColumns = "t.tenant, t.owner, t.id, p.id, p.host, p.body, p.created, p.node, p.live, p.cursor, p.tries, p.since, p.due, p.reason"

// scanPush reads pushColumns.
func scanPush(r *sqlite3.Stmt) store.PushConfig {
	return store.PushConfig{
		Key:     store.Key{Tenant: r.ColumnText(0), Owner: r.ColumnText(1), ID: r.ColumnText(2)},
		ID:      r.ColumnText(3),
		Host:    r.ColumnText(4),
		Body:    r.ColumnBlob(5, nil),
		Created: milli(r.ColumnInt64(6)),
		Node:    r.ColumnText(7),
		Live:    r.ColumnBool(8),
		Progress: store.Progress{
			Cursor: r.ColumnInt64(9),
			Tries:  int32(r.ColumnInt64(10)),
			Since:  maybe(r, 11),
			Due:    maybe(r, 12),
			Reason: r.ColumnText(13),
		},
	}
}

func maybe(r *sqlite3.Stmt, column int) time.Time {
	if r.ColumnType(column) == sqlite3.NULL {
		return time.Time{}
	}
	return milli(r.ColumnInt64(column))
}

// taskKey selects the key of a task by its name.
const taskKey = "(SELECT key FROM task WHERE tenant = ? AND owner = ? AND id = ?)"

// task returns the key of a task, or 0.
func (c *conn) task(k store.Key) (key int64, err error) {
	err = c.stmt("SELECT key FROM task WHERE tenant = ? AND owner = ? AND id = ?").text(k.Tenant).text(k.Owner).text(k.ID).
		each(func(r *sqlite3.Stmt) error { key = r.ColumnInt64(0); return nil })
	return key, err
}

// SetPush implements store.Store.
func (s *Store) SetPush(ctx context.Context, p *store.PushConfig) error {
	if err := p.Validate(); err != nil {
		return err
	}
	found := false
	err := s.write(ctx, func(c *conn) error {
		task, err := c.task(p.Key)
		if err != nil || task == 0 {
			return err
		}
		found = true
		return c.setPush(task, p)
	})
	if err == nil && !found {
		return store.ErrNotFound
	}
	return wrap("set push config", err)
}

// Push implements store.Store.
func (r *Reader) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	var found *store.PushConfig
	err := r.read(ctx, func(c *conn) error {
		found = nil
		err := c.stmt("SELECT " + pushColumns + " FROM task AS t JOIN push AS p ON p.task = t.key WHERE t.tenant = ? AND t.owner = ? AND t.id = ? AND p.id = ?").
			text(id.Tenant).text(id.Owner).text(id.Key.ID).text(id.ID).
			each(func(r *sqlite3.Stmt) error { found = new(scanPush(r)); return nil })
		if err == nil && found == nil {
			return store.ErrNotFound
		}
		return err
	})
	return found, err
}

// Pushes implements store.Store.
func (r *Reader) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []store.PushConfig
	err := r.read(ctx, func(c *conn) error {
		found = nil
		return c.stmt("SELECT " + pushColumns + " FROM task AS t JOIN push AS p ON p.task = t.key WHERE t.tenant = ? AND t.owner = ? AND t.id = ? AND p.id > ? ORDER BY p.id LIMIT ?").
			text(k.Tenant).text(k.Owner).text(k.ID).text(after).int(int64(limit)).
			each(func(r *sqlite3.Stmt) error { found = append(found, scanPush(r)); return nil })
	})
	return found, err
}

// DropPush implements store.Store.
func (s *Store) DropPush(ctx context.Context, id store.PushID) error {
	err := s.write(ctx, func(c *conn) error {
		return some(c.transaction(func() error {
			gone := int64(0)
			err := c.stmt("DELETE FROM push WHERE task = " + taskKey + " AND id = ? RETURNING key").
				text(id.Tenant).text(id.Owner).text(id.Key.ID).text(id.ID).
				each(func(r *sqlite3.Stmt) error { gone = r.ColumnInt64(0); return nil })
			if err != nil {
				return err
			}
			if gone == 0 {
				return errNothing
			}
			return c.stmt("DELETE FROM letter WHERE push = ?").int(gone).exec()
		}))
	})
	return wrap("drop push config", err)
}

// dropPushes removes the push configs of a task.
func (c *conn) dropPushes(task int64) error {
	err := c.stmt("DELETE FROM letter WHERE push IN (SELECT key FROM push WHERE task = ?)").int(task).exec()
	if err != nil {
		return err
	}
	return c.stmt("DELETE FROM push WHERE task = ?").int(task).exec()
}

// Advance implements store.Store.
func (s *Store) Advance(ctx context.Context, all []store.Advance) error {
	err := s.write(ctx, func(c *conn) error {
		return some(c.transaction(func() error {
			changed := false
			for i := range all {
				done, err := c.advance(&all[i])
				if err != nil {
					return err
				}
				changed = changed || done
			}
			if !changed {
				return errNothing
			}
			return nil
		}))
	})
	return wrap("advance", err)
}

func (c *conn) advance(a *store.Advance) (changed bool, err error) {
	push := int64(0)
	err = c.stmt("UPDATE push SET cursor = ?, tries = ?, since = ?, due = ?, reason = ?, live = ? WHERE task = " + taskKey + " AND id = ? AND created = ? RETURNING key").
		progress(&a.Progress).bool(a.Live).text(a.Tenant).text(a.Owner).text(a.Key.ID).text(a.ID).time(a.Created).
		each(func(r *sqlite3.Stmt) error { push = r.ColumnInt64(0); return nil })
	if push == 0 || err != nil {
		return false, err
	}
	for i := range a.Dead {
		l := &a.Dead[i]
		err := c.stmt("INSERT INTO letter (push, seq, time, tries, reason, again) VALUES (?, ?, ?, ?, ?, ?) " +
			"ON CONFLICT (push, seq) DO UPDATE SET time = excluded.time, tries = excluded.tries, reason = excluded.reason, again = excluded.again").
			int(push).int(l.Seq).time(l.Time).int(int64(l.Tries)).text(l.Reason).bool(l.Again).exec()
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// ClaimPushes implements store.Store.
func (s *Store) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(c *conn) error {
		err := c.stmt("UPDATE push SET node = ? WHERE key IN (SELECT key FROM push AS p INDEXED BY push_live WHERE p.live = 1 AND p.node <> ? AND NOT EXISTS (" +
			"SELECT 1 FROM node WHERE node.name = p.node AND node.gone = 0 AND node.beat >= ?) LIMIT ?)").
			text(node).text(node).time(deadBefore).int(int64(max(limit, 0))).exec()
		n = int(c.Changes())
		return err
	})
	if err != nil {
		return 0, wrap("claim push configs", err)
	}
	return n, nil
}

// LivePushes implements store.Store.
func (r *Reader) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []store.PushState
	err := r.read(ctx, func(c *conn) error {
		found = nil
		return c.stmt("SELECT " + pushColumns + ", t.last, p.key FROM push AS p INDEXED BY push_live JOIN task AS t ON t.key = p.task " +
			"WHERE p.live = 1 AND p.node = ? AND p.key > ? ORDER BY p.key LIMIT ?").
			text(node).int(after).int(int64(limit)).
			each(func(r *sqlite3.Stmt) error {
				found = append(found, store.PushState{PushConfig: scanPush(r), Last: r.ColumnInt64(14), At: r.ColumnInt64(15)})
				return nil
			})
	})
	return found, err
}

// DeadLetters implements store.Store.
func (r *Reader) DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	sql := "SELECT t.tenant, t.owner, t.id, p.id, l.seq, l.time, l.tries, l.reason, l.again FROM letter AS l JOIN push AS p ON p.key = l.push JOIN task AS t ON t.key = p.task WHERE "
	if q.Again {
		sql += "l.again = 1"
	} else {
		sql += "true"
	}
	if q.After != nil {
		sql += " AND (t.tenant, t.owner, t.id, p.id, l.seq) > (?, ?, ?, ?, ?)"
	}
	var found []store.DeadLetter
	err := r.read(ctx, func(c *conn) error {
		found = nil
		st := c.stmt(sql + " ORDER BY t.tenant, t.owner, t.id, p.id, l.seq LIMIT ?")
		if a := q.After; a != nil {
			st.text(a.Tenant).text(a.Owner).text(a.Key.ID).text(a.ID).int(a.Seq)
		}
		return st.int(int64(q.Limit)).each(func(r *sqlite3.Stmt) error {
			found = append(found, store.DeadLetter{
				PushID: store.PushID{Key: store.Key{Tenant: r.ColumnText(0), Owner: r.ColumnText(1), ID: r.ColumnText(2)}, ID: r.ColumnText(3)},
				Seq:    r.ColumnInt64(4), Time: milli(r.ColumnInt64(5)), Tries: int32(r.ColumnInt64(6)), Reason: r.ColumnText(7), Again: r.ColumnBool(8),
			})
			return nil
		})
	})
	return found, err
}

// SetLetters implements store.Store.
func (s *Store) SetLetters(ctx context.Context, letters []store.DeadLetter, gone bool) error {
	const which = "WHERE push = (SELECT key FROM push WHERE task = " + taskKey + " AND id = ?) AND seq = ?"
	err := s.write(ctx, func(c *conn) error {
		return c.transaction(func() error {
			for i := range letters {
				l := &letters[i]
				var st *stmt
				if gone {
					st = c.stmt("DELETE FROM letter " + which)
				} else {
					st = c.stmt("UPDATE letter SET time = ?, tries = ?, reason = ?, again = ? " + which).
						time(l.Time).int(int64(l.Tries)).text(l.Reason).bool(l.Again)
				}
				err := st.text(l.Tenant).text(l.Owner).text(l.Key.ID).text(l.ID).int(l.Seq).exec()
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	return wrap("set dead letters", err)
}
