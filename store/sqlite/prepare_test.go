package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// A statement is prepared once, whatever its arguments are: preparing that of a list takes as
// long as reading a page.
func TestStatementsArePreparedOnce(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	used(t, st)
	c, err := st.readers.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.readers.put(c)
	for _, c := range []*conn{st.writer, c} {
		for sql, s := range c.stmts {
			if n := s.s.Status(sqlite3.STMTSTATUS_REPREPARE, false); n > 0 {
				t.Errorf("prepared %d times more: %s", n, sql)
			}
		}
	}
}
