package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// dropLetters is how many dead letters one step of a removal deletes.
const dropLetters = 1000

// setPush writes a push config of a task.
func (c *conn) setPush(task int64, p *store.PushConfig) error {
	return c.stmt("INSERT INTO push (task, id, host, body, created, node, live, cursor, tries, since, due, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT (task, id) DO UPDATE SET host = excluded.host, body = excluded.body, created = excluded.created, node = excluded.node, live = excluded.live, " +
		"cursor = excluded.cursor, tries = excluded.tries, since = excluded.since, due = excluded.due, reason = excluded.reason").
		int(task).text(p.ID).text(p.Host).blob(p.Body).time(p.Created).text(p.Node).bool(p.Live).progress(&p.Progress).exec()
}

// setPushes writes the push configs of an append and their dead letters.
func (c *conn) setPushes(task int64, a *store.Append) error {
	for i := range a.Pushes {
		if err := c.setPush(task, &a.Pushes[i]); err != nil {
			return err
		}
	}
	keys := map[string]int64{}
	for i := range a.Letters {
		id := a.Letters[i].ID
		if keys[id] == 0 {
			var err error
			if keys[id], _, err = c.stmt("SELECT key FROM push WHERE task = ? AND id = ?").int(task).text(id).one(); err != nil {
				return err
			}
		}
		if err := c.bury(keys[id], a.Letters[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// progress binds cursor, tries, since, due and reason.
func (s *stmt) progress(p *store.Progress) *stmt {
	return s.int(p.Cursor).int(int64(p.Tries)).maybe(p.Since).maybe(p.Due).text(p.Reason)
}

// maybe binds a time, or NULL if it is zero.
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

// taskKey selects the key of a task by tenant, owner and ID.
const taskKey = "(SELECT key FROM task WHERE tenant = ? AND owner = ? AND id = ?)"

// SetPush implements store.Store.
func (s *Store) SetPush(ctx context.Context, p *store.PushConfig) error {
	if err := p.Validate(); err != nil {
		return err
	}
	found := false
	err := s.join(ctx, "set push config", func(c *conn) (changed bool, err error) {
		task, there, err := c.stmt("SELECT key FROM task WHERE tenant = ? AND owner = ? AND id = ?").text(p.Tenant).text(p.Owner).text(p.Key.ID).one()
		if found = there; !there || err != nil {
			return false, err
		}
		return true, c.setPush(task, p)
	})
	if err == nil && !found {
		return store.ErrNotFound
	}
	return err
}

const pushesOf = "SELECT " + pushColumns + " FROM task AS t JOIN push AS p ON p.task = t.key WHERE t.tenant = ? AND t.owner = ? AND t.id = ? "

// Push implements store.Store.
func (r *Reader) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	return findOne(ctx, r, scanPush, func(c *conn) *stmt {
		return c.stmt(pushesOf + "AND p.id = ?").text(id.Tenant).text(id.Owner).text(id.Key.ID).text(id.ID)
	})
}

// Pushes implements store.Store.
func (r *Reader) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return find(ctx, r, scanPush, func(c *conn) *stmt {
		return c.stmt(pushesOf + "AND p.id > ? ORDER BY p.id LIMIT ?").text(k.Tenant).text(k.Owner).text(k.ID).text(after).int(int64(limit))
	})
}

// DropPush implements store.Store.
func (s *Store) DropPush(ctx context.Context, id store.PushID) error {
	for done := false; !done; {
		err := s.join(ctx, "drop push config", func(c *conn) (changed bool, err error) {
			changed, done, err = c.dropPush(id)
			return changed, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropPush removes some of a push config's dead letters and, when none is left, the config
// itself. done means that nothing is left.
func (c *conn) dropPush(id store.PushID) (changed, done bool, err error) {
	key, there, err := c.stmt("SELECT key FROM push WHERE task = " + taskKey + " AND id = ?").
		text(id.Tenant).text(id.Owner).text(id.Key.ID).text(id.ID).one()
	if !there || err != nil {
		return false, err == nil, err
	}
	err = c.stmt("DELETE FROM letter WHERE push = ? AND seq IN (SELECT seq FROM letter WHERE push = ? LIMIT ?)").
		int(key).int(key).int(dropLetters).exec()
	if err != nil || c.Changes() == dropLetters {
		return true, false, err
	}
	return true, true, c.stmt("DELETE FROM push WHERE key = ?").int(key).exec()
}

// Advance implements store.Store.
func (s *Store) Advance(ctx context.Context, all []store.Advance) error {
	return s.join(ctx, "advance", func(c *conn) (changed bool, err error) {
		for i := range all {
			done, err := c.advance(&all[i])
			if err != nil {
				return false, err
			}
			changed = changed || done
		}
		return changed, nil
	})
}

func (c *conn) advance(a *store.Advance) (changed bool, err error) {
	const which = " WHERE task = " + taskKey + " AND id = ? AND created = ? AND (? = '' OR node = ?)"
	run := func(sql string, alive bool) (push int64, there bool, err error) {
		st := c.stmt(sql).progress(&a.Progress)
		if !alive {
			st.bool(a.Live)
		}
		return st.text(a.Tenant).text(a.Owner).text(a.Key.ID).text(a.ID).time(a.Created).text(a.Node).text(a.Node).one()
	}
	// Most configs stay live. Then live is not set, because SQLite would write the index
	// whenever a statement sets one of its columns.
	var push int64
	if a.Live {
		push, changed, err = run("UPDATE push SET cursor = ?, tries = ?, since = ?, due = ?, reason = ?"+which+" AND live = 1 RETURNING key", true)
	}
	if !changed && err == nil {
		push, changed, err = run("UPDATE push SET cursor = ?, tries = ?, since = ?, due = ?, reason = ?, live = ?"+which+" RETURNING key", false)
	}
	if !changed || err != nil {
		return false, err
	}
	return true, c.bury(push, a.Dead)
}

var lostPushes = lostOf("push", "push_live", "live = 1")

// ClaimPushes implements store.Store. Like Claim, its cost depends only on what it claims.
func (s *Store) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (n int, err error) {
	err = s.change(ctx, "claim push configs", func(c *conn) (changed bool, err error) {
		n, err = c.claimPushes(node, deadBefore, limit)
		return n > 0, err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (c *conn) claimPushes(node string, deadBefore time.Time, limit int) (n int, err error) {
	from, err := c.lostNodes(lostPushes, node, deadBefore)
	for _, name := range from {
		if err != nil || n >= limit {
			break
		}
		// The configs of a deleted task have no task row any more.
		err = c.stmt("UPDATE push SET node = ? WHERE key IN (SELECT p.key FROM push AS p INDEXED BY push_live WHERE p.live = 1 AND p.node = ? " +
			"AND EXISTS (SELECT 1 FROM task AS t WHERE t.key = p.task) LIMIT ?)").
			text(node).text(name).int(int64(limit - n)).exec()
		n += int(c.Changes())
	}
	return n, err
}

// LivePushes implements store.Store.
func (r *Reader) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	return r.pushStates(ctx, "INDEXED BY push_live JOIN task AS t ON t.key = p.task WHERE p.live = 1 AND p.node = ?3", after, limit, node)
}

// AllPushes returns up to limit push configs of all tasks and nodes, live or not, in the
// order in which they were created, starting after the config whose At is after (0: from the
// first). limit must be at least 1. It is for operators.
func (r *Reader) AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error) {
	return r.pushStates(ctx, "JOIN task AS t ON t.key = p.task WHERE true", after, limit)
}

// pushStates reads a page of the push configs that the SQL which selects.
func (r *Reader) pushStates(ctx context.Context, which string, after int64, limit int, args ...string) ([]store.PushState, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return find(ctx, r, scanPushState, func(c *conn) *stmt {
		st := c.stmt("SELECT " + pushColumns + ", t.last, p.key FROM push AS p " + which + " AND p.key > ?1 ORDER BY p.key LIMIT ?2").
			int(after).int(int64(limit))
		for _, arg := range args {
			st.text(arg)
		}
		return st
	})
}

// scanPushState reads pushColumns, the end of the log and the position.
func scanPushState(r *sqlite3.Stmt) store.PushState {
	return store.PushState{PushConfig: scanPush(r), Last: r.ColumnInt64(14), At: r.ColumnInt64(15)}
}
