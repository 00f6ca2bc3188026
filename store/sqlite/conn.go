package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// maxMemory caps the memory of one connection, in bytes. It must hold the largest row a few
// times; memory is taken from the system as needed.
const maxMemory = 1 << 30

// conn is a connection with its prepared statements. It serves one goroutine at a time.
type conn struct {
	*sqlite3.Conn
	stmts   map[string]*stmt
	version int64  // schema version of the database, if known: see sql
	clear   []byte // buffer of logOf
	grown   bool   // a large value was read, which took much memory: see grow
}

// patience is how long a connection waits for another program to end its transaction. Our own
// connections do not collide, and the lock file keeps other processes of this program away,
// but the sqlite3 tool may hold a lock.
var patience = 5 * time.Second // not constant, for tests

// openConn opens an existing database; mode is ro or rw.
func openConn(path, mode string) (*conn, error) {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "vfs=" + system + "&mode=" + mode}
	ctx := sqlite3.WithMaxMemory(context.Background(), maxMemory)
	raw, err := sqlite3.OpenContext(ctx, name.String())
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, stmts: map[string]*stmt{}}
	err = c.BusyTimeout(patience)
	if err == nil {
		// The plan of a statement must not depend on the values of its arguments. Otherwise
		// SQLite would prepare it again each time its LIMIT is bound.
		_, err = c.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// grownFrom is a size in bytes: a connection that reads a value of this size or more is
// closed afterwards. SQLite returns no memory to the system: a connection keeps twice the
// size of the largest value that it has read, or a cache full of chunks.
const grownFrom = 1 << 20

// grow notes that a value of n bytes was read.
func (c *conn) grow(n int) {
	if n >= grownFrom {
		c.grown = true
	}
}

// close finalizes the statements and closes the connection.
func (c *conn) close() error {
	for _, s := range c.stmts {
		s.s.Close()
	}
	c.stmts = nil
	return c.Conn.Close()
}

// pragma reads a pragma whose value is an integer.
func (c *conn) pragma(name string) (int64, error) {
	s, _, err := c.Prepare("PRAGMA " + name)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if !s.Step() {
		return 0, fmt.Errorf("PRAGMA %s: no value: %w", name, s.Err())
	}
	return s.ColumnInt64(0), nil
}

// transaction runs f between BEGIN IMMEDIATE and COMMIT. If any of the three fails, no
// transaction is open afterwards. Only if COMMIT itself failed may the changes still be there
// after a crash.
func (c *conn) transaction(f func() error) error {
	c.rollback() // a transaction whose end failed
	if err := c.stmt("BEGIN IMMEDIATE").exec(); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = c.stmt("COMMIT").exec()
	}
	if err != nil {
		c.rollback()
	}
	return err
}

// rollback ends a failed transaction, unless SQLite did so itself, as it does after some I/O
// errors.
func (c *conn) rollback() {
	if !c.GetAutocommit() {
		// If even this fails, the next BEGIN fails too and returns the error.
		_ = c.stmt("ROLLBACK").exec()
	}
}

// stmt returns the prepared statement for sql, ready for its arguments.
func (c *conn) stmt(sql string) *stmt {
	if s := c.stmts[sql]; s != nil {
		s.n, s.err = 0, nil
		return s
	}
	raw, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return &stmt{err: fmt.Errorf("prepare: %w", err)}
	}
	s := &stmt{s: raw}
	c.stmts[sql] = s
	return s
}

// bigArg is a size in bytes: larger arguments are unbound after the statement has run.
const bigArg = 64 << 10

// stmt binds arguments in the order of the statement's parameters, then runs. It keeps the
// first error.
type stmt struct {
	s   *sqlite3.Stmt
	n   int // number of arguments bound
	big bool
	err error
}

func (s *stmt) text(v string) *stmt {
	if s.err == nil {
		s.n++
		s.big = s.big || len(v) > bigArg
		s.err = s.s.BindText(s.n, v)
	}
	return s
}

func (s *stmt) int(v int64) *stmt {
	if s.err == nil {
		s.n++
		s.err = s.s.BindInt64(s.n, v)
	}
	return s
}

func (s *stmt) time(t time.Time) *stmt { return s.int(t.UnixMilli()) }

func (s *stmt) bool(v bool) *stmt {
	if v {
		return s.int(1)
	}
	return s.int(0)
}

// blob binds v; nil is empty bytes, not NULL.
func (s *stmt) blob(v []byte) *stmt {
	if s.err == nil {
		s.n++
		s.big = s.big || len(v) > bigArg
		s.err = s.s.BindBlob(s.n, v)
	}
	return s
}

func (s *stmt) null() *stmt {
	if s.err == nil {
		s.n++
		s.err = s.s.BindNull(s.n)
	}
	return s
}

// exec runs a statement that returns no rows.
func (s *stmt) exec() error {
	if s.err == nil {
		s.err = s.s.Exec()
	}
	s.done()
	return s.err
}

// errEnough ends a read before its last row.
var errEnough = errors.New("enough")

// each runs a statement and calls f for each row, which is valid during the call, until f
// returns an error. errEnough just ends the read.
func (s *stmt) each(f func(row *sqlite3.Stmt) error) error {
	if s.err != nil {
		return s.err
	}
	for s.err == nil && s.s.Step() {
		s.err = f(s.s)
	}
	switch s.err {
	case nil:
		s.err = s.s.Err()
	case errEnough:
		s.err = nil
	}
	// Reset repeats the error of Step, if there was one.
	if err := s.s.Reset(); s.err == nil {
		s.err = err
	}
	s.done()
	return s.err
}

func (s *stmt) done() {
	if s.big && s.s != nil {
		s.big = false
		_ = s.s.ClearBindings() // cannot fail
	}
}
