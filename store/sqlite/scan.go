package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// collect runs a statement and returns the results of scan for all rows.
func collect[T any](s *stmt, scan func(*sqlite3.Stmt) T) (all []T, err error) {
	err = s.each(func(r *sqlite3.Stmt) error {
		all = append(all, scan(r))
		return nil
	})
	return all, err
}

// find is collect as a read of its own. If a database of an older version has no such table,
// it finds nothing.
func find[T any](ctx context.Context, r *Reader, scan func(*sqlite3.Stmt) T, make func(*conn) *stmt) (all []T, err error) {
	err = r.read(ctx, func(c *conn) (err error) {
		all, err = collect(make(c), scan)
		return orNone(err)
	})
	return all, err
}

// findOne is find for at most one row; without one it returns ErrNotFound.
func findOne[T any](ctx context.Context, r *Reader, scan func(*sqlite3.Stmt) T, make func(*conn) *stmt) (*T, error) {
	all, err := find(ctx, r, scan, make)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, store.ErrNotFound
	}
	return &all[0], nil
}

func scanText(r *sqlite3.Stmt) string  { return r.ColumnText(0) }
func scanNumber(r *sqlite3.Stmt) int64 { return r.ColumnInt64(0) }

// one runs a statement that returns at most one row, with one integer. there is false if
// there is no row or the integer is NULL.
func (s *stmt) one() (v int64, there bool, err error) {
	err = s.each(func(r *sqlite3.Stmt) error {
		v, there = r.ColumnInt64(0), r.ColumnType(0) != sqlite3.NULL
		return nil
	})
	return v, there, err
}
