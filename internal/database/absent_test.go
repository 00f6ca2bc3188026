package database

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/store"
)

// The advice of a command depends on the error of the database, not on its being a file.
func TestWhatToDoAboutADatabaseThatCannotBeRead(t *testing.T) {
	p := &Location{File: "d/parley.db", Data: "d"}
	shared := &Location{Address: "postgres://h/d"}
	for _, c := range []struct {
		p    *Location
		err  error
		want string
	}{
		{shared, fs.ErrNotExist, "a server makes what it needs"},
		{shared, store.ErrUnreachable, "see whether PostgreSQL runs at h"},
		{shared, errors.New("odd"), "--store, or PARLEY_STORE, has the address"},
		{p, fs.ErrNotExist, "--data names the directory"},
		{p, fs.ErrPermission, "run it as the user of the server"},
		{p, store.ErrReadOnly, "whether the file system is read-only"},
		{p, sqlite3.CANTOPEN, "whether the file system is read-only"},
		{p, sqlite3.CORRUPT, "restore it from a backup"},
		{p, store.ErrFull, "make room"},
	} {
		f, ok := errors.AsType[*failure.Error](c.p.Absent(fmt.Errorf("sqlite: open: %w", c.err)))
		if !ok || !strings.Contains(f.Hint, c.want) {
			t.Errorf("%v: the hint is %q", c.err, f.Hint)
		}
	}
}
