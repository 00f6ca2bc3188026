package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

// Which settings may lose acknowledged commits, and what the error says.
func TestLossy(t *testing.T) {
	for _, c := range []struct {
		is   durability
		want string // in the error; "" is none
	}{
		{durability{commit: "on", fsync: "on"}, ""},
		{durability{}, ""}, // it says nothing
		{durability{commit: "on", fsync: "on", names: "a", standbys: 2}, ""},
		{durability{commit: "remote_apply", names: "a", standbys: 1}, ""},
		{durability{commit: "remote_write", names: "a", standbys: 1}, ""},
		{durability{commit: "local"}, ""},
		{durability{commit: "on", names: "a"}, ""}, // commits wait until one is there
		{durability{commit: "off"}, "synchronous_commit is off"},
		{durability{commit: "on", fsync: "off"}, "fsync is off"},
		{durability{commit: "local", names: "a"}, "synchronous_commit is local"},
		{durability{commit: "local", standbys: 1}, "synchronous_commit is local"},
		{durability{commit: "on", standbys: 1}, "a standby streams while synchronous_standby_names is empty"},
		{durability{commit: "on", standbys: 2}, "2 standbys stream while"},
		{durability{commit: "on", standbys: 1, hidden: 1}, "GRANT pg_read_all_stats"},
	} {
		switch err := c.is.lossy(); {
		case c.want == "" && err != nil, c.want != "" && (!errors.Is(err, ErrLossy) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", c.is, err, c.want)
		}
	}
}

// standBy makes a connection that replicates like a standby, and reports that it has applied
// what it got. It ends with the test or when stop is called.
func standBy(t *testing.T, address, name string) (stop func()) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), address+"&replication=true&application_name="+name)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	stop = func() { _ = conn.Close(ctx) }
	t.Cleanup(stop)
	at, err := conn.Exec(t.Context(), "IDENTIFY_SYSTEM").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	conn.Frontend().Send(&pgproto3.Query{String: "START_REPLICATION PHYSICAL " + string(at[0].Rows[0][2])})
	applied := append([]byte{'r'}, bytes.Repeat(binary.BigEndian.AppendUint64(nil, 1), 3)...) // written, flushed, applied
	conn.Frontend().Send(&pgproto3.CopyData{Data: append(applied, make([]byte, 9)...)})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	return stop
}

// TestDurable: a server that may lose acknowledged commits is refused, unless that is
// allowed; one that gets such settings later is reported.
func TestDurable(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t, &pgtest.Options{Durable: true})
	address := c.Database(t)
	exec := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if err := c.Exec(sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec("CREATE ROLE plain LOGIN", "GRANT CREATE ON DATABASE d1 TO plain")
	tryTo := func(address string, o *Options) (logged string, err error) {
		t.Helper()
		var log bytes.Buffer
		all := Options{NoListen: true, Conns: 1}
		if o != nil {
			all.AllowAsyncCommit, all.Existing = o.AllowAsyncCommit, o.Existing
		}
		all.Logger = slog.New(slog.NewTextHandler(&log, nil))
		st, err := Open(t.Context(), address, &all)
		if err == nil {
			err = errors.Join(store.Do(t.Context(), st, goOn(t.Name()+address+log.String(), "node", 0)), st.Close())
		}
		return log.String(), err
	}
	want := func(what, address string, o *Options, refused string, logged string) {
		t.Helper()
		log, err := tryTo(address, o)
		if refused == "" && err != nil && !errors.Is(err, store.ErrConflict) || refused != "" && (!errors.Is(err, ErrLossy) || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v, want %q", what, err, refused)
		}
		if logged == "" && log != "" || !strings.Contains(log, logged) {
			t.Errorf("%s: logged %q, want %q", what, log, logged)
		}
	}
	eventuallySees := func(address string, n string) {
		t.Helper()
		eventually(t, n+" receivers", func() bool { return sql(t, address, "SELECT count(replay_lsn) FROM pg_stat_replication") == n })
	}
	as := as(t, address, "plain")
	want("a server alone", as, nil, "", "")
	asyncly := address + "&options=-c%20synchronous_commit%3Doff"
	want("asynchronous commits", asyncly, nil, "synchronous_commit is off", "")
	want("asynchronous commits, allowed", asyncly, &Options{AllowAsyncCommit: true}, "", "as was allowed")
	want("asynchronous commits, allowed by a setting", asyncly+"%20-c%20"+allowSetting+"%3Don", nil, "", "as was allowed")
	if _, err := tryTo(asyncly, &Options{Existing: true}); err != nil && !errors.Is(err, store.ErrConflict) {
		t.Errorf("for a command: %v", err)
	}
	if l, err := Look(t.Context(), asyncly, 0); err != nil || !errors.Is(l.Lossy, ErrLossy) {
		t.Errorf("a look: %+v, %v", l, err)
	}

	var log bytes.Buffer
	running := mustOpen(t, address, &Options{NoListen: true, Conns: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	stop := standBy(t, c.URL("postgres"), "other")
	eventuallySees(address, "1")
	want("an asynchronous standby", address, nil, "a standby streams while synchronous_standby_names is empty", "")
	want("an asynchronous standby, of which a role sees little", as, nil, "GRANT pg_read_all_stats", "")
	want("an asynchronous standby, allowed", as, &Options{AllowAsyncCommit: true}, "", "as was allowed")
	running.pool.Reset()
	if _, err := running.Now(t.Context()); err != nil || !strings.Contains(log.String(), "the next start will be refused") {
		t.Errorf("what runs already: %v, %q", err, log.String())
	}
	stop()
	eventuallySees(address, "0")
	standBy(t, c.URL("postgres"), "pg_receivewal")
	eventuallySees(address, "1")
	want("a program that keeps the WAL", address, nil, "", "")
	exec("ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()")
	eventually(t, "full_page_writes is off", func() bool { return sql(t, address, "SHOW full_page_writes") == "off" })
	want("half pages", address, nil, "", "full_page_writes is off")
	exec("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
	eventually(t, "fsync is off", func() bool { return sql(t, address, "SHOW fsync") == "off" })
	want("no fsync", address, nil, "fsync is off", "full_page_writes is off")
}

// Parameters that are not ours stay in an address unchanged.
func TestAddress(t *testing.T) {
	var o Options
	got, err := o.fromAddress("postgres://u:p%2F@h/d?password=a+b%2Fc&listen=postgres%3A%2F%2Fu:x%2By@h%2Fd&options=-c%20a%3D1&advisory=off")
	if want := "postgres://u:p%2F@h/d?password=a+b%2Fc&options=-c%20a%3D1"; got != want || err != nil || o.Listen != "postgres://u:x+y@h/d" || !o.NoAdvisory || o.NoListen {
		t.Errorf("%s, %+v, %v; want %s", got, o, err, want)
	}
	if _, err := o.fromAddress("postgres://h/d?advisory=on"); err == nil {
		t.Error("advisory=on is accepted")
	}
}
