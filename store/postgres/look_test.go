package postgres

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// Look describes a database, and creates nothing in an empty one.
func TestLook(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	if s, err := Look(t.Context(), address, time.Minute); err != nil || s.Version != 0 || s.Refused != nil {
		t.Errorf("an empty database: %+v, %v", s, err)
	}
	if got := sql(t, address, "SELECT count(*) FROM pg_namespace WHERE nspname = 'parley'"); got != "0" {
		t.Error("it made the schema")
	}
	st := mustOpen(t, address, nil)
	if err := st.Beat(t.Context(), "node", time.Now()); err != nil {
		t.Fatal(err)
	}
	if s, err := Look(t.Context(), address, time.Minute); err != nil || s.Version != current.version() || s.Knows != s.Version || s.Refused != nil || !slices.Equal(s.Living, []string{"node"}) {
		t.Errorf("in use: %+v, %v", s, err)
	}
	sql(t, address, "UPDATE parley.schema SET version = 99, works = 99")
	if s, err := Look(t.Context(), address, time.Minute); err != nil || s.Refused == nil || !strings.Contains(s.Refused.Error(), "newer version") {
		t.Errorf("newer: %+v, %v", s, err)
	}
}
