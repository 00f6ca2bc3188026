package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// write calls f with the writing connection, between two commits of the group.
func (s *Store) write(ctx context.Context, f func(*conn) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.writer == nil {
		return store.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.cleaner.restart()
	// ctx does not interrupt the write, because the write is quick once begun, and a caller
	// that left early would not know whether it happened.
	if err := f(s.writer); err != nil {
		s.writer.rollback()
		return err
	}
	return nil
}

// change runs f in a transaction on the writing connection. If f changed nothing, the
// transaction is rolled back, which saves the fsync.
func (s *Store) change(ctx context.Context, what string, f func(*conn) (changed bool, err error)) error {
	err := s.write(ctx, func(c *conn) error {
		err := c.transaction(func() error {
			changed, err := f(c)
			if err == nil && !changed {
				err = errNothing
			}
			return err
		})
		if errors.Is(err, errNothing) {
			return nil
		}
		if err != nil {
			s.tally.forget()
		}
		return err
	})
	return wrap(what, err)
}

// Beat implements store.Store.
func (s *Store) Beat(ctx context.Context, node string, now time.Time) error {
	err := s.write(ctx, func(c *conn) error {
		return c.stmt("INSERT INTO node (name, beat) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET beat = excluded.beat, gone = 0").
			text(node).time(now).exec()
	})
	return wrap("beat", err)
}

// Leave implements store.Store.
func (s *Store) Leave(ctx context.Context, node string) error {
	err := s.write(ctx, func(c *conn) error {
		return c.stmt("INSERT INTO node (name, beat, gone) VALUES (?, 0, 1) ON CONFLICT (name) DO UPDATE SET gone = 1").
			text(node).exec()
	})
	return wrap("leave", err)
}

// AllNodes returns the nodes that are registered or left and are not yet forgotten, by name.
// It is for operators.
func (r *Reader) AllNodes(ctx context.Context) ([]store.NodeState, error) {
	return find(ctx, r, scanNode, func(c *conn) *stmt {
		return c.sql("SELECT name, nullif(beat, 0), gone FROM node ORDER BY name")
	})
}

func scanNode(r *sqlite3.Stmt) store.NodeState {
	return store.NodeState{Name: r.ColumnText(0), Beat: maybe(r, 1), Left: r.ColumnBool(2)}
}

// give is the part of a statement that gives tasks to a node. Its first argument is the
// node's name.
const give = "UPDATE task SET node = ?, epoch = epoch + 1, " +
	"lost = lost + (task.node <> '' AND NOT EXISTS (SELECT 1 FROM node WHERE node.name = task.node AND node.gone = 1)) "

// free is the condition under which the tasks of the node n.name may be taken. Its arguments
// are the node that wants them, and the time of the oldest heartbeat of a living node.
const free = "n.name <> ? AND NOT EXISTS (SELECT 1 FROM node WHERE node.name = n.name AND node.gone = 0 AND node.beat >= ?) "

// lostOf selects the nodes whose rows of a table may be taken. It uses an index on node that
// has only the rows that can be taken at all. It steps from name to name in the index,
// however many rows a node has, so it does not read the rows of the claimer or of living
// nodes.
func lostOf(table, index, which string) string {
	first := "SELECT min(node) FROM " + table + " INDEXED BY " + index + " WHERE " + which
	return "WITH RECURSIVE n (name) AS (" + first + " UNION ALL SELECT (" + first + " AND node > n.name) FROM n WHERE n.name IS NOT NULL) " +
		"SELECT name FROM n WHERE name IS NOT NULL AND " + free
}

var lost = lostOf("task", "task_active", "active = 1 AND node <> ''")

// lostNodes runs a statement of lostOf.
func (c *conn) lostNodes(sql, node string, deadBefore time.Time) (from []string, err error) {
	return collect(c.stmt(sql).text(node).time(deadBefore), scanText)
}

// Claim implements store.Store. Its cost depends on what it claims, not on the number of
// tasks.
func (s *Store) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	var claimed []store.Row
	err := s.change(ctx, "claim", func(c *conn) (changed bool, err error) {
		claimed, err = c.claim(node, deadBefore, limit)
		if err != nil || len(claimed) >= limit {
			return true, err
		}
		return true, c.stmt("DELETE FROM node WHERE name <> ? AND (gone = 1 OR beat < ?)").text(node).time(deadBefore).exec()
	})
	if err != nil {
		return nil, err // without claimed, which was rolled back
	}
	return claimed, nil
}

func (c *conn) claim(node string, deadBefore time.Time, limit int) (claimed []store.Row, err error) {
	from, err := c.lostNodes(lost, node, deadBefore)
	for _, name := range from {
		if err != nil || len(claimed) >= limit {
			break
		}
		var some []store.Row
		some, err = collect(c.stmt(give+"WHERE key IN (SELECT key FROM task INDEXED BY task_active WHERE active = 1 AND node = ? LIMIT ?) RETURNING "+columns).
			text(node).text(name).int(int64(limit-len(claimed))), scan)
		claimed = append(claimed, some...)
	}
	return claimed, err
}

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	var taken []store.Row
	err := s.write(ctx, func(c *conn) (err error) {
		taken, err = collect(c.stmt(give+"WHERE key = (SELECT n.key FROM (SELECT key, node AS name FROM task WHERE tenant = ? AND owner = ? AND id = ? AND active = 1) AS n WHERE n.name = '' OR "+free+") RETURNING "+columns).
			text(node).text(k.Tenant).text(k.Owner).text(k.ID).text(node).time(deadBefore), scan)
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
