package sqlite

import (
	"embed"
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// applicationID marks our files ("Prly"), in the header field that file(1) and SQLite read.
const applicationID = 0x50726c79

//go:embed migrations/*.sql
var migrations embed.FS

// schema describes the database of a version of the program. The version of a database is the
// number of steps that were applied to it.
type schema struct {
	steps  []string // SQL, in order; steps[0] makes version 1
	tables []string // all tables that any version had
}

// current is this program's schema.
var current = schema{
	steps:  store.Migrations(migrations),
	tables: []string{"blob", "blob_task", "chunk", "doomed", "entry", "kept", "letter", "member", "node", "push", "receipt", "scope", "seal", "secret", "span", "staged", "tally", "task"},
}

func (s *schema) version() int64 { return int64(len(s.steps)) }

// migrate brings the database from its version to the schema's, one step per transaction.
// There is no way back. told, unless nil, gets the number of finished steps.
func (s *schema) migrate(c *conn, told func(done, of int)) error {
	at, err := c.pragma("user_version")
	if err != nil {
		return err
	}
	tell := func(v int64) {
		if of := int(s.version() - at); told != nil && of > 0 {
			told(int(v-at), of)
		}
	}
	for v := at + 1; v <= s.version(); v++ {
		tell(v - 1)
		// The first step also writes the application id, so none of our files is ever without
		// it.
		err := c.transaction(func() error {
			return c.Exec(fmt.Sprintf("%s;\nPRAGMA application_id = %d; PRAGMA user_version = %d",
				s.steps[v-1], applicationID, v))
		})
		if err != nil {
			return fmt.Errorf("migrate to version %d: %w", v, err)
		}
	}
	tell(s.version())
	return nil
}

// verify reads the database without changing it and returns an error if it cannot be used.
func (s *schema) verify(c *conn, path string) error {
	id, err := c.pragma("application_id")
	if err != nil {
		return unreadable(path, err)
	}
	version, err := c.pragma("user_version")
	if err != nil {
		return unreadable(path, err)
	}
	if id != applicationID || version < 1 {
		return foreign(path)
	}
	if version > s.version() {
		return newer(path, version, s.version())
	}
	var unknown string
	err = c.stmt("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'").
		each(func(r *sqlite3.Stmt) error {
			if name := r.ColumnText(0); !slices.Contains(s.tables, name) {
				unknown = name
			}
			return nil
		})
	if err != nil {
		return unreadable(path, err)
	}
	if unknown != "" {
		return fmt.Errorf("sqlite: %s has a table %q that this program did not make; move the file away or choose another", path, unknown)
	}
	return nil
}

func newer(path string, has, knows int64) error {
	return fmt.Errorf("sqlite: %s was written by a newer version of this program (schema %d, this one knows %d); use that version, or another file", path, has, knows)
}

func foreign(path string) error {
	return fmt.Errorf("sqlite: %s is not a database of this program; it was left as it is, choose another file", path)
}

// unreadable explains why even the schema could not be read.
func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, sqlite3.NOTADB), errors.Is(err, sqlite3.CORRUPT):
		return fmt.Errorf("sqlite: %s is damaged and was left as it is; restore it from a backup, or choose another file: %w", path, err)
	case errors.Is(err, sqlite3.BUSY):
		return fmt.Errorf("sqlite: %s is locked by another program, perhaps the sqlite3 shell; end that first: %w", path, err)
	}
	return fmt.Errorf("sqlite: open %s: %w", path, err)
}
