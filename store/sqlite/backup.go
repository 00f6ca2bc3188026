package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

var link = os.Link // not constant, for tests

// Backup writes a copy of the database, as of one moment, to a new file. It works while other
// processes use the database. The copy is checked by opening it and reading all of it; it is
// durable when Backup returns and as small as possible. A file that exists is refused. While
// Backup runs, the write-ahead log cannot restart, so it grows with every write. begun,
// unless nil, gets the name of the file that grows towards Size meanwhile.
func (r *Reader) Backup(ctx context.Context, file string, begun func(part string)) error {
	switch err := r.backup(ctx, file, begun); {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.INTERRUPT) && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("sqlite: back up to %s: it exists; choose another name", file)
	default:
		return fmt.Errorf("sqlite: back up to %s: %w", file, err)
	}
}

func (r *Reader) backup(ctx context.Context, file string, begun func(part string)) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fs.ErrExist)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.part") // mode 0600
	if err != nil {
		return err
	}
	tmp.Close()
	defer func() {
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			os.Remove(tmp.Name() + end)
		}
	}()
	if begun != nil {
		begun(tmp.Name())
	}
	if err := r.copyTo(ctx, tmp.Name()); err != nil {
		return err
	}
	if err := checkCopy(ctx, tmp.Name()); err != nil {
		return fmt.Errorf("the copy cannot be used: %w", err)
	}
	if err := syncFile(tmp.Name()); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces a file that appeared meanwhile. On a file system
	// without links, the rename replaces only an empty file that was created for it.
	err = link(tmp.Name(), file)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		var empty *os.File
		if empty, err = os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			empty.Close()
			if err = os.Rename(tmp.Name(), file); err != nil {
				os.Remove(file)
			}
		}
	}
	if err != nil {
		return err
	}
	return syncDir(file)
}

// Size returns the approximate size of a backup in bytes, or 0 if it is unknown.
func (r *Reader) Size(ctx context.Context) (size int64) {
	_ = r.read(ctx, func(c *conn) error {
		pages, err := c.pragma("page_count")
		if err != nil {
			return err
		}
		free, err := c.pragma("freelist_count")
		size = (pages - free) * pageSize
		return err
	})
	return size
}

func (r *Reader) copyTo(ctx context.Context, file string) error {
	c, err := openReader(r.path, "ro")
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.Exec("PRAGMA query_only = OFF"); err != nil { // it would forbid the copy too
		return err
	}
	c.SetInterrupt(ctx)
	return c.Exec("VACUUM INTO '" + strings.ReplaceAll(file, "'", "''") + "'")
}

// checkCopy opens a copy as a Store would, reads all of it, and leaves it in the journal mode
// that a Store uses.
func checkCopy(ctx context.Context, file string) error {
	c, err := openConn(file, "rw")
	if err != nil {
		return err
	}
	defer c.close()
	c.SetInterrupt(ctx)
	if err := current.verify(c, file); err != nil {
		return err
	}
	found := "nothing was read"
	err = c.stmt("PRAGMA integrity_check(1)").
		each(func(r *sqlite3.Stmt) error { found = r.ColumnText(0); return nil })
	if err == nil && found != "ok" {
		err = errors.New(found)
	}
	if err == nil {
		err = c.Exec(durable + "PRAGMA journal_mode = WAL")
	}
	return err
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
