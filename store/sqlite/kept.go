package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// A Vault may change a value while the Store is open, so reading and changing a value happens
// in one transaction.

// Secret implements store.Store.
func (s *Store) Secret(ctx context.Context, name string) ([]byte, error) {
	var secret []byte
	err := s.write(ctx, func(c *conn) (err error) {
		secret, err = c.secret(name)
		return err
	})
	return secret, wrap("secret", err)
}

func (c *conn) secret(name string) (secret []byte, err error) {
	const of = "SELECT value FROM secret WHERE name = ?"
	if secret, err = c.lookUp(of, name); err != nil || secret != nil {
		return secret, err
	}
	fresh := make([]byte, store.SecretSize)
	rand.Read(fresh)
	err = c.stmt("INSERT INTO secret (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING").text(name).blob(fresh).exec()
	if err != nil {
		return nil, err
	}
	return c.lookUp(of, name) // another program's, if that was first
}

// lookUp returns the value with a name, or nil if there is none.
func (c *conn) lookUp(of, name string) (value []byte, err error) {
	err = c.stmt(of).text(name).
		each(func(r *sqlite3.Stmt) error { value = append([]byte{}, r.ColumnRawBlob(0)...); return nil })
	return value, err
}

// Keep implements store.Store. If both was and is are nil it only reads, and does not wait
// for the writer.
func (s *Store) Keep(ctx context.Context, name string, was, is []byte) (now []byte, err error) {
	if was == nil && is == nil {
		err = s.read(ctx, func(c *conn) (err error) {
			now, err = c.kept(name)
			return err
		})
		return now, err
	}
	err = s.write(ctx, func(c *conn) (err error) {
		now, err = c.swap(name, was, is)
		return err
	})
	return now, wrap("keep", err)
}

func (c *conn) kept(name string) ([]byte, error) {
	return c.lookUp("SELECT value FROM kept WHERE name = ?", name)
}

func (c *conn) swap(name string, was, is []byte) (now []byte, err error) {
	err = c.transaction(func() error {
		if now, err = c.kept(name); err != nil || (now == nil) != (was == nil) || !bytes.Equal(now, was) {
			return err
		}
		now = bytes.Clone(is)
		if is == nil {
			return c.stmt("DELETE FROM kept WHERE name = ?").text(name).exec()
		}
		return c.stmt("INSERT INTO kept (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value").
			text(name).blob(is).exec()
	})
	return now, err
}

// Kept implements store.Store.
func (r *Reader) Kept(ctx context.Context) (all map[string][]byte, err error) {
	err = r.read(ctx, func(c *conn) (err error) {
		all, err = c.allKept()
		return orNone(err)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (c *conn) allKept() (map[string][]byte, error) {
	all := map[string][]byte{}
	err := c.stmt("SELECT name, value FROM kept WHERE name <> ?").text(packingName).
		each(func(r *sqlite3.Stmt) error {
			all[r.ColumnText(0)] = append([]byte{}, r.ColumnRawBlob(1)...)
			return nil
		})
	return all, err
}
