package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Reader is the reading half of a Store. OpenReader returns a Reader on its own: it reads a
// database that another process has open, or that no process has open.
type Reader struct {
	path    string
	readers *pool
	anchor  *conn // set by OpenReader: keeps the write-ahead log readable; nil in a Store
}

// OpenReader opens a database for reading only, even while a Store has it open in this or
// another process. Each call sees what is committed at that time. The Reader changes no data.
// After a crash of the last Store it may create the index of the write-ahead log again, and
// it may leave that log, empty, beside the database. While a call reads, the log cannot
// restart.
func OpenReader(path string) (*Reader, error) {
	path, err := existing(path)
	if err != nil {
		return nil, err
	}
	if err := sidecars(path); err != nil {
		return nil, err
	}
	c, err := openUnchanged(path, &current)
	if err != nil {
		return nil, err
	}
	return &Reader{path: path, readers: newPool(path, 2), anchor: c}, nil
}

// Close closes a Reader of OpenReader.
func (r *Reader) Close() error {
	r.readers.close()
	if c := r.anchor; c != nil {
		r.anchor = nil
		return wrap("close", c.close())
	}
	return nil
}

// read calls f with a reading connection. It ends early when ctx does.
func (r *Reader) read(ctx context.Context, f func(*conn) error) error {
	c, err := r.readers.get(ctx)
	if err == nil {
		c.SetInterrupt(ctx)
		err = f(c)
		c.SetInterrupt(context.Background())
		r.readers.put(c)
	}
	switch {
	case err == nil || err == store.ErrNotFound || err == store.ErrClosed:
		return err
	case ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, context.Cause(ctx))):
		return context.Cause(ctx)
	}
	return fmt.Errorf("sqlite: read: %w", err)
}

// orNone returns err, or nil if it says that a table does not exist: a Reader on its own may
// read a database of an older version, which has nothing that would be in the table.
func orNone(err error) error {
	if errors.Is(err, sqlite3.ERROR) && strings.Contains(err.Error(), "no such table") {
		return nil
	}
	return err
}
