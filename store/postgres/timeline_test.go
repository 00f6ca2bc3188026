package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

// A server on an older timeline than the process has seen is not used; a server of another
// cluster, as after pg_upgrade, starts a new history.
func TestTimelines(t *testing.T) {
	var log bytes.Buffer
	raised := 0
	l := &timelines{log: slog.New(slog.NewTextHandler(&log, nil)), raised: func() { raised++ }}
	for i, c := range []struct {
		system   string
		timeline uint32
		behind   bool
	}{
		{"a", 4, false}, {"a", 4, false}, {"a", 5, false}, {"a", 4, true}, {"a", 4, true}, {"a", 5, false}, {"b", 1, false}, {"b", 1, false},
	} {
		if err := l.sees(c.system, c.timeline); errors.Is(err, errBehind) != c.behind {
			t.Errorf("%d: %v", i, err)
		}
	}
	if raised != 1 || strings.Count(log.String(), "takes writes again") != 1 || strings.Count(log.String(), "failed over") != 1 {
		t.Errorf("raised %d times, and the log has:\n%s", raised, log.String())
	}
}

// replacedPrimaryIsFenced: an old primary comes back, is first in the list of hosts and
// accepts writes. A process that has seen the new primary sends it nothing; a process that
// has seen neither uses it.
func replacedPrimaryIsFenced(t *testing.T, old, next *pgtest.Cluster) {
	address := "postgres://parley@" + old.Address() + "," + next.Address() + "/postgres?sslmode=disable&target_session_attrs=read-write&listen=off"
	var log bytes.Buffer
	s, err := Open(t.Context(), address, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := store.Do(t.Context(), s, goOn("task", "node", 0)); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT (to_regclass('parley.task') IS NOT NULL)::int", "SELECT count(*) FROM parley.task"} {
		if err := next.Await(sql, "1"); err != nil {
			t.Fatal(err)
		}
	}
	beside := mustOpen(t, strings.Replace(address, "target_session_attrs=read-write&listen=off", "target_session_attrs=standby", 1), &Options{Existing: true})
	if p, err := beside.List(t.Context(), store.Query{Tenant: "t", Owner: "o", Limit: 9}); err != nil || len(p.Records) != 1 {
		t.Errorf("a command that reads from the standby: %+v, %v", p, err)
	}
	beside.Close()
	if err := old.Stop(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	if err := next.Promote(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keep(t.Context(), "one", nil, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := old.Start(); err != nil { // as the primary that it was
		t.Fatal(err)
	}
	s.pool.Reset()
	if _, err := s.Keep(t.Context(), "two", nil, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if n, err := old.Ask("SELECT count(*) FROM parley.kept"); err != nil || n != "0" {
		t.Errorf("the old primary has %s, %v", n, err)
	}
	if n, err := next.Ask("SELECT count(*) FROM parley.kept"); err != nil || n != "2" {
		t.Errorf("the new primary has %s, %v", n, err)
	}
	if text := log.String(); !strings.Contains(text, "has failed over") || !strings.Contains(text, "takes writes again") {
		t.Errorf("the log has:\n%s", text)
	}
}
