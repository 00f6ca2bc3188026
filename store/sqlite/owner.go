package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// write calls f with the writer connection, between two commits of the group.
func (s *Store) write(ctx context.Context, f func(*conn) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.writer == nil {
		return store.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// ctx does not interrupt the write: once begun it is quick, and a caller
	// who left would not know whether it happened.
	if err := f(s.writer); err != nil {
		s.writer.rollback()
		return err
	}
	return nil
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

// claim is the part of a statement that gives tasks to a node, whose name it
// takes first.
const claim = "UPDATE task SET node = ?, epoch = epoch + 1, " +
	"lost = lost + NOT EXISTS (SELECT 1 FROM node WHERE node.name = task.node AND node.gone = 1) "

// left is the part that says whose tasks may be taken: it takes the name of
// the node that wants them, and the time before which others are dead.
const left = "t.active = 1 AND t.node <> ? AND NOT EXISTS (SELECT 1 FROM node WHERE node.name = t.node AND node.gone = 0 AND node.beat >= ?) "

// Claim implements store.Store. It looks at active tasks only, however many
// have ended.
func (s *Store) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	var claimed []store.Row
	err := s.write(ctx, func(c *conn) error {
		return c.transaction(func() error {
			claimed = nil
			err := c.stmt(claim + "WHERE key IN (SELECT key FROM task AS t INDEXED BY task_active WHERE " + left + "LIMIT ?) RETURNING " + columns).
				text(node).text(node).time(deadBefore).int(int64(max(limit, 0))).
				each(func(r *sqlite3.Stmt) error {
					claimed = append(claimed, scan(r))
					return nil
				})
			if err != nil || len(claimed) >= limit {
				return err
			}
			return c.stmt("DELETE FROM node WHERE name <> ? AND (gone = 1 OR beat < ?)").text(node).time(deadBefore).exec()
		})
	})
	if err != nil {
		return nil, wrap("claim", err)
	}
	return claimed, nil
}

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	var taken *store.Row
	err := s.write(ctx, func(c *conn) error {
		return c.stmt(claim + "WHERE key = (SELECT key FROM task AS t WHERE t.tenant = ? AND t.owner = ? AND t.id = ? AND " + left + ") RETURNING " + columns).
			text(node).text(k.Tenant).text(k.Owner).text(k.ID).text(node).time(deadBefore).
			each(func(r *sqlite3.Stmt) error { taken = new(scan(r)); return nil })
	})
	if err == nil && taken == nil {
		return nil, store.ErrNotFound
	}
	return taken, wrap("take", err)
}

// Secret implements store.Store.
func (s *Store) Secret(ctx context.Context, name string) ([]byte, error) {
	var secret []byte
	err := s.write(ctx, func(c *conn) error {
		err := c.stmt("SELECT value FROM secret WHERE name = ?").text(name).
			each(func(r *sqlite3.Stmt) error { secret = r.ColumnBlob(0, nil); return nil })
		if err != nil || secret != nil {
			return err
		}
		secret = make([]byte, store.SecretSize)
		rand.Read(secret)
		return c.stmt("INSERT INTO secret (name, value) VALUES (?, ?)").text(name).blob(secret).exec()
	})
	if err != nil {
		return nil, wrap("secret", err)
	}
	return secret, nil
}

// wrap adds what was tried to errors that no caller tests for.
func wrap(what string, err error) error {
	if err == nil || err == store.ErrClosed {
		return err
	}
	return fmt.Errorf("sqlite: %s: %w", what, err)
}
