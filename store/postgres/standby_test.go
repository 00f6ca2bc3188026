package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

// TestStandby checks a primary with a standby, before and after the standby is promoted.
func TestStandby(t *testing.T) {
	primary := pgtest.New(t, &pgtest.Options{Durable: true, Host: "127.0.0.1", Name: "a", Settings: map[string]string{
		"synchronous_standby_names": "b", "synchronous_commit": "local", "parley.allow_async_commit": "on", "wal_retrieve_retry_interval": "'100ms'",
	}})
	standby, err := primary.Standby(&pgtest.Options{Host: "127.0.0.1", Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Close() })
	t.Run("commits wait", func(t *testing.T) { commitsWait(t, primary, standby) })
	t.Run("a replaced primary is fenced", func(t *testing.T) { replacedPrimaryIsFenced(t, primary, standby) })
}

// commitsWait: while the only standby hangs, a COMMIT that the client gives up is not
// canceled, and so stays invisible; one whose wait the server ended does not count as done;
// and new connections do not show a transaction that no standby has.
func commitsWait(t *testing.T, primary, standby *pgtest.Cluster) {
	address := primary.Database(t)
	mustOpen(t, address, &Options{NoListen: true}).Close() // the schema may take longer than the statements below
	const wait = 5 * time.Second                           // a statement has a second less
	synchronously := address + "&options=-c%20synchronous_commit%3Don%20-c%20statement_timeout%3D4000"
	s, err := Open(t.Context(), synchronously, &Options{NoListen: true, wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	eventually(t, "a task", func() bool {
		err := store.Do(t.Context(), s, goOn("0", "node", 0))
		return err == nil || errors.Is(err, store.ErrConflict) // a try before has taken effect
	})
	var old [2]*pgxpool.Conn // connections from before
	for i := range old {
		if old[i], err = s.pool.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range old {
		c.Release()
	}
	if _, err := standby.Pause(); err != nil {
		t.Fatal(err)
	}
	defer standby.Resume()
	tasks := func() string { return sql(t, address, "SELECT count(*)::text FROM parley.task") }
	const waiting = "SELECT string_agg(pid::text, ' ' ORDER BY xact_start) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

	if err := store.Do(t.Context(), s, goOn("1", "node", 0)); err == nil {
		t.Fatal("acknowledged without a standby")
	}
	s.o.wait = time.Minute // the next one is ended by hand
	second := make(chan error)
	go func() { second <- store.Do(t.Context(), s, goOn("2", "node", 0)) }()
	var pids []string
	eventually(t, "two commits that wait", func() bool {
		pids = strings.Fields(sql(t, address, "SELECT coalesce(("+waiting+"), '')"))
		return len(pids) == 2
	})
	if n := tasks(); n != "1" {
		t.Errorf("%s tasks are shown, of which one is committed", n)
	}
	if err := primary.Exec("SELECT pg_cancel_backend(" + pids[1] + ")"); err != nil {
		t.Fatal(err)
	}
	if err := <-second; !errors.Is(err, errAlone) {
		t.Errorf("a commit whose wait was ended: %v", err)
	}
	s.o.wait = wait
	eventually(t, "the task that no standby has", func() bool { return tasks() == "2" })
	if _, err := s.Get(t.Context(), goOn("2", "node", 0).Row.Key, store.RowOnly); !errors.Is(err, errUnconfirmed) || !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("a read of what no standby has: %v", err)
	}
	if err := standby.Resume(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		eventually(t, "task "+id, func() bool {
			_, err := s.Get(t.Context(), goOn(id, "node", 0).Row.Key, store.RowOnly)
			return err == nil
		})
	}
}
