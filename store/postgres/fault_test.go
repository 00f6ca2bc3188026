package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

var firstDay = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// taskOf is the append that begins a task, with two entries.
func taskOf(id, node string) *store.Append {
	return &store.Append{
		Row: store.Row{
			Key: store.Key{Tenant: "t", Owner: "o", ID: id}, Context: "c", State: 1, Updated: firstDay, Created: firstDay,
			Active: true, Node: node, Epoch: 1, Turn: 1, Attempt: 1,
		},
		Entries: twoEntries(0),
	}
}

func twoEntries(after int64) []store.Entry {
	var es []store.Entry
	for seq := after + 1; seq <= after+2; seq++ {
		es = append(es, store.Entry{Seq: seq, Time: firstDay, Kind: 1, Body: fmt.Append(nil, "entry ", seq)})
	}
	return es
}

// goOn returns an append that continues a task after an entry; 0: one that begins the task.
func goOn(id, node string, after int64) *store.Append {
	a := taskOf(id, node)
	if after > 0 {
		a.After, a.Epoch, a.Entries = after, 1, twoEntries(after)
	}
	return a
}

// last returns the end of a task's log, once the server answers; 0: there is no task. It
// checks that the log is whole.
func last(t testing.TB, st store.Store, id string) int64 {
	t.Helper()
	k := taskOf(id, "").Row.Key
	var at int64
	eventually(t, "the server answers", func() bool {
		r, err := st.Get(context.Background(), k, store.RowOnly)
		if err == nil {
			at = r.Last
		}
		return err == nil || errors.Is(err, store.ErrNotFound)
	})
	var es []store.Entry
	eventually(t, "the server answers", func() bool {
		var err error
		es, err = st.Entries(context.Background(), k, 0, 0)
		return err == nil
	})
	if int64(len(es)) < at || at%2 != 0 {
		t.Errorf("%s ends at %d and has %d entries", id, at, len(es))
	}
	for i, e := range es {
		if e.Seq != int64(i+1) || string(e.Body) != fmt.Sprint("entry ", e.Seq) {
			t.Errorf("%s: entry %d is %d, %q", id, i+1, e.Seq, e.Body)
		}
	}
	return at
}

// TestRestarts: after any end of the server, acknowledged appends are there, and each of the
// others is there as a whole or not at all.
func TestRestarts(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t, &pgtest.Options{Durable: true})
	address := c.Database(t)
	st := mustOpen(t, address, nil)
	beats := firstDay.Add(time.Hour)
	if err := st.Beat(t.Context(), "node", beats); err != nil { // one that never did is dead
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var acked, unknown atomic.Int64
	const workers = 6
	ends := make([]map[string]int64, workers) // as they were acknowledged, or looked up
	for w := range workers {
		ends[w] = map[string]int64{}
		all.Go(func() {
			open := "" // a task whose last append was not there when its outcome was unknown
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprint("task ", w, " ", i/20)
				at := ends[w][id]
				err := store.Do(t.Context(), st, goOn(id, "node", at))
				switch {
				case err == nil:
					ends[w][id] = at + 2
					acked.Add(1)
					open = ""
				default:
					// A killed server may have written a COMMIT that it did not show to
					// anyone yet. Then the append appears at its next start, and engines can
					// handle that.
					late := errors.Is(err, store.ErrConflict) && open == id
					if !late && (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrLeaseLost)) {
						t.Errorf("%s after %d: %v", id, at, err)
					}
					unknown.Add(1)
					now := last(t, st, id)
					if now != at && now != at+2 || late && now == at {
						t.Errorf("%s was at %d, and is at %d after %v", id, at, now, err)
					}
					if open = ""; now == at {
						open = id
					}
					ends[w][id] = now
				}
			}
		})
	}
	all.Go(func() { // as an engine does
		for n := 0; ctx.Err() == nil; n++ {
			_ = st.Beat(t.Context(), "node", beats)
			_, _ = st.Claim(t.Context(), "claimer", firstDay, 10)
			_, _ = st.Keep(t.Context(), "n", nil, nil)
			st.pause(ctx, 5*time.Millisecond)
		}
	})
	modes := []string{pgtest.Fast, pgtest.Immediate, pgtest.Fast, pgtest.Immediate}
	if testing.Short() {
		modes = modes[:2]
	}
	for _, mode := range modes {
		was := acked.Load()
		eventually(t, "appends go on", func() bool { return acked.Load() > was+100 })
		if err := c.Stop(mode); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	was := acked.Load()
	eventually(t, "appends go on", func() bool { return acked.Load() > was+100 })
	stop()
	all.Wait()
	other := mustOpen(t, address, nil)
	for _, tasks := range ends {
		for id, want := range tasks {
			if got := last(t, other, id); got != want {
				t.Errorf("%s ends at %d, and %d was acknowledged", id, got, want)
			}
		}
	}
	t.Logf("%d acknowledged, %d not, %d restarts", acked.Load(), unknown.Load(), len(modes))
}

// TestCuts cuts the network in each phase of a transaction.
func TestCuts(t *testing.T) {
	t.Parallel()
	testCuts(t, "")
}

// TestCutWhileSending: a statement that was only partly sent has no effect, and is repeated.
func TestCutWhileSending(t *testing.T) {
	t.Parallel()
	address := copied(t)
	p := newProxy(t, cluster.Address())
	st := mustOpen(t, cluster.Via(p.address(), nameOf(address)), &Options{NoListen: true, Conns: 1})
	p.cutAfter(3, false)
	if err := st.Post(t.Context(), []store.Mail{{Node: "node", Body: make([]byte, 16<<20)}}); err != nil || p.cuts != 1 { // more than the network holds
		t.Errorf("cut %d times: %v", p.cuts, err)
	}
	if got, err := st.Mail(t.Context(), "node", 9); len(got) != 1 || err != nil {
		t.Errorf("%d messages: %v", len(got), err)
	}
}

func testCuts(t *testing.T, parameters string) {
	pgtest.Require(t)
	address := cluster.Database(t)
	direct := mustOpen(t, address, nil)
	p := newProxy(t, cluster.Address())
	st := mustOpen(t, cluster.Via(p.address(), nameOf(address))+parameters, &Options{NoListen: true, Conns: 1})
	// A transaction that reached the server may take effect after the store has given up.
	over := func() {
		p.cutAfter(-1, false)
		eventually(t, "the server is done with it", func() bool {
			st.pool.Reset() // again, for a connection that was being made
			return sql(t, address, "SELECT count(*) FROM pg_stat_activity WHERE datname = '"+nameOf(address)+"' AND client_addr IS NOT NULL") == "0"
		})
	}
	var kept []byte
	n := 0
	for _, reach := range []bool{false, true} {
		for phase := range 8 {
			n++
			what := fmt.Sprintf("cut with piece %d, that reaches the server: %v", phase, reach)
			id := fmt.Sprint("task ", n)
			if err := store.Do(t.Context(), st, goOn(id, "dead", 0)); err != nil {
				t.Fatal(err)
			}
			p.cutAfter(phase, reach)
			err := store.Do(t.Context(), st, goOn(id, "dead", 2))
			over()
			at := last(t, direct, id)
			if at != 2 && at != 4 || err == nil && at != 4 {
				t.Errorf("%s: an append gave %v, and the log ends at %d", what, err, at)
			}
			known(t, what, err)

			is := fmt.Append(nil, n)
			p.cutAfter(phase, reach)
			now, err := st.Keep(t.Context(), "name", kept, is)
			over()
			is2, err2 := direct.Keep(t.Context(), "name", nil, nil)
			if err2 != nil {
				t.Fatal(err2)
			}
			if err == nil && (string(now) != string(is2) || string(now) != string(is)) || err != nil && string(is2) != string(kept) && string(is2) != string(is) {
				t.Errorf("%s: keep %q instead of %q gave %q, %v, and it is %q", what, is, kept, now, err, is2)
			}
			known(t, what, err)
			kept = is2

			p.cutAfter(phase, reach)
			rows, err := st.Claim(t.Context(), "me", firstDay, 5)
			over()
			r, err2 := direct.Get(t.Context(), taskOf(id, "").Row.Key, store.RowOnly)
			if err2 != nil {
				t.Fatal(err2)
			}
			// The second attempt skips rows that the first one still locks. A node must learn
			// which tasks it got.
			if err == nil && (len(rows) == 1) != (r.Node == "me" && r.Epoch == 2) || r.Epoch > 2 {
				t.Errorf("%s: a claim gave %v, %v, and the task is %+v", what, rows, err, r.Row)
			}
			known(t, what, err)
			if r.Node == "dead" {
				if _, err := direct.Claim(t.Context(), "me", firstDay, 5); err != nil {
					t.Fatal(err)
				}
			}

			p.cutAfter(phase, reach)
			err = st.Post(t.Context(), []store.Mail{{Node: id, Body: []byte("1")}})
			over()
			got, err2 := direct.Mail(t.Context(), id, 9)
			if err2 != nil || len(got) > 1 || err == nil && len(got) != 1 {
				t.Errorf("%s: a post gave %v, and there is %v, %v", what, err, got, err2)
			}
			known(t, what, err)

			if _, err := direct.Keep(t.Context(), "read", nil, []byte("read")); err != nil {
				t.Fatal(err)
			}
			p.cutAfter(phase, reach)
			b, err := st.Keep(t.Context(), "read", nil, nil)
			over()
			if err != nil || string(b) != "read" {
				t.Errorf("%s: a read gave %q, %v", what, b, err)
			}
		}
	}
	if p.cuts < 30 {
		t.Errorf("only %d cuts", p.cuts)
	}
	t.Logf("%d cuts", p.cuts)
}

// known checks for one of the errors for operators.
func known(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("%s: %v is not said to be of the way to the database", what, err)
	}
}

// TestServerDoesNotAnswer: callers do not wait for ever, and everything continues when the
// server answers again.
func TestServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	address := cluster.Database(t)
	direct := mustOpen(t, address, nil)
	p := newProxy(t, cluster.Address())
	st, err := Open(t.Context(), cluster.Via(p.address(), nameOf(address)), &Options{Conns: 4, wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := store.Do(t.Context(), st, goOn("task", "node", 0)); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.hold = true })
	var calls sync.WaitGroup
	for what, f := range map[string]func() error{
		"get":    func() error { _, err := st.Get(t.Context(), taskOf("task", "").Row.Key, store.Whole); return err },
		"append": func() error { return store.Do(t.Context(), st, goOn("task", "node", 2)) },
		"claim":  func() error { _, err := st.Claim(t.Context(), "me", firstDay, 1); return err },
		"beat":   func() error { return st.Beat(t.Context(), "me", firstDay) },
		"mail":   func() error { _, err := st.Mail(t.Context(), "me", 1); return err },
		"keep":   func() error { _, err := st.Keep(t.Context(), "a", nil, []byte("b")); return err },
		"now":    func() error { _, err := st.Now(t.Context()); return err },
	} {
		calls.Go(func() {
			if err := f(); !errors.Is(err, store.ErrUnreachable) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	calls.Wait()
	p.set(func() { p.hold = false })
	at := last(t, direct, "task")
	eventually(t, "it works again", func() bool {
		return store.Do(t.Context(), st, goOn("task", "node", at)) == nil || last(t, direct, "task") != at
	})
}

// Close waits only once for a server that is down, however many appends are queued.
func TestCloseWaitsOnce(t *testing.T) {
	t.Parallel()
	address := copied(t)
	p := newProxy(t, cluster.Address())
	st := mustOpen(t, cluster.Via(p.address(), nameOf(address)), &Options{NoListen: true, Conns: 1})
	const appends = 5
	done := make(chan error, appends+1)
	held, hold := make(chan struct{}), make(chan struct{})
	st.OnCommit(func(store.Commit) { close(held); <-hold })
	st.Append(taskOf("first", "node"), func(error) {})
	<-held
	for i := range appends { // a batch each
		a := taskOf(fmt.Sprint("task ", i), "node")
		a.Entries[0].Body = make([]byte, 256<<10)
		a.Pushes = []store.PushConfig{{Key: a.Row.Key, ID: "hook", Created: firstDay}} // whose key is asked for first, a few times at once
		st.Append(a, func(err error) { done <- err })
	}
	p.set(func() { p.down = true })
	p.cut()
	closed := make(chan error)
	go func() { closed <- st.Close() }()
	eventually(t, "it closes", st.closed.Load)
	close(hold)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	for i := range appends {
		want := store.ErrClosed
		if i == 0 {
			want = store.ErrUnreachable
		}
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("append %d: %v, want %v", i, err, want)
		}
	}
}

// TestPausedProcess: a process that is paused in the middle of a transaction loses its locks,
// so that others get its tasks.
func TestPausedProcess(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	address := cluster.Database(t)
	direct := mustOpen(t, address, nil)
	p := newProxy(t, cluster.Address())
	st := mustOpen(t, cluster.Via(p.address(), nameOf(address)), &Options{NoListen: true, Conns: 1})
	k := taskOf("task", "dead").Row.Key
	if err := store.Do(t.Context(), direct, taskOf("task", "dead")); err != nil {
		t.Fatal(err)
	}
	// A claim skips locked rows. If it waited, it would wait as long as this transaction is
	// held.
	locker, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close(t.Context())
	for _, statement := range []string{"BEGIN", "SELECT 1 FROM parley.task FOR UPDATE"} {
		if _, err := locker.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := direct.Claim(t.Context(), "me", firstDay, 1); err != nil || len(rows) != 0 {
		t.Errorf("a claim of what is locked: %v, %v", rows, err)
	}
	if _, err := locker.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}

	locked, done := make(chan struct{}), make(chan error, 1)
	go func() {
		once := sync.OnceFunc(func() {
			p.set(func() { p.hold = true })
			close(locked)
		})
		done <- st.write(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "SELECT 1 FROM parley.task FOR UPDATE")
			once()
			if err == nil {
				_, err = tx.Exec(t.Context(), "SELECT 1")
			}
			return err
		})
	}()
	<-locked
	if r, err := direct.Take(t.Context(), "me", firstDay, k); err != nil || r.Node != "me" {
		t.Errorf("%+v, %v", r, err)
	}
	p.set(func() { p.hold = false })
	if err := <-done; err != nil {
		t.Errorf("it does not go on: %v", err)
	}
}

// TestOutages: errors tell why nothing works.
func TestOutages(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t, &pgtest.Options{Settings: map[string]string{"max_connections": "12", "superuser_reserved_connections": "3"}})
	if err := c.Exec("CREATE ROLE server LOGIN"); err != nil {
		t.Fatal(err)
	}
	write := func(st *Store) error { return st.Beat(t.Context(), "node", firstDay) }

	address := c.Database(t)
	st := mustOpen(t, address, nil)
	if err := c.Exec("ALTER DATABASE d1 SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'd1'"); err != nil {
		t.Fatal(err)
	}
	if err := write(st); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	if err := store.Do(t.Context(), st, taskOf("task", "node")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("an append, read-only: %v", err)
	}
	if _, err := st.Now(t.Context()); err != nil {
		t.Errorf("a read, read-only: %v", err)
	}
	if err := c.Exec("ALTER DATABASE d1 RESET default_transaction_read_only"); err != nil {
		t.Fatal(err)
	}

	// Other programs have all connections.
	if err := c.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'd1'"); err != nil {
		t.Fatal(err)
	}
	sql(t, address, "GRANT ALL ON SCHEMA parley TO server; GRANT ALL ON ALL TABLES IN SCHEMA parley TO server")
	var others []*pgx.Conn
	for err := error(nil); err == nil; {
		for {
			conn, err := pgx.Connect(t.Context(), as(t, c.URL("postgres"), "server"))
			if err != nil {
				break
			}
			others = append(others, conn)
		}
		var more *Store
		if more, err = Open(t.Context(), as(t, address, "server"), nil); err == nil {
			more.Close() // it got the place of a connection that was still ending
		} else if !errors.Is(err, store.ErrBusy) {
			t.Errorf("out of connections: %v", err)
		}
	}
	for _, conn := range others {
		conn.Close(t.Context())
	}

	if err := c.Exec("DROP DATABASE d1 WITH (FORCE)"); err != nil {
		t.Fatal(err)
	}
	if err := write(st); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("dropped: %v", err)
	}
	if _, err := Open(t.Context(), address, nil); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("open what is not there: %v", err)
	}
	if err := c.Stop(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err := Open(t.Context(), strings.Replace(address, "parley@", "parley:swordfish@", 1), nil)
	if !errors.Is(err, store.ErrUnreachable) || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("stopped: %v", err)
	}
	if took := time.Since(began); took > callWait {
		t.Errorf("it took %v", took)
	}
}

// TestIdleConnectionIsEnded: if the server has ended pooled connections, as after a restart,
// no call fails, not even one that is sent at most once.
func TestIdleConnectionIsEnded(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	address := copied(t)
	st := mustOpen(t, address, &Options{NoListen: true, Conns: 1})
	for range 5 {
		sql(t, cluster.URL("postgres"), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '"+nameOf(address)+"'")
		eventually(t, "the connection is ended", func() bool {
			return sql(t, cluster.URL("postgres"), "SELECT count(*) FROM pg_stat_activity WHERE datname = '"+nameOf(address)+"'") == "0"
		})
		if err := st.Post(t.Context(), []store.Mail{{Node: "node", Body: make([]byte, 1<<20)}}); err != nil {
			t.Error(err)
		}
	}
}

// TestKeysWhileServerIsAway: an append that needs new keys waits for a restarting server as
// long as one that needs none.
func TestKeysWhileServerIsAway(t *testing.T) {
	t.Parallel()
	address := copied(t)
	p := newProxy(t, cluster.Address())
	st := mustOpen(t, cluster.Via(p.address(), nameOf(address)), &Options{NoListen: true, Conns: 1})
	if err := store.Do(t.Context(), st, goOn("task 0", "node", 0)); err != nil {
		t.Fatal(err)
	}
	for i, keys := range []*keys{&st.tasks, &st.pushes} {
		keys.drop()
		a := goOn(fmt.Sprint("task ", i+1), "node", 0)
		if keys == &st.pushes {
			a.Pushes = []store.PushConfig{{ID: "p", Host: "h", Created: firstDay, Live: true}}
		}
		p.set(func() { p.down, p.barred = true, 0 })
		p.cut()
		done := make(chan error, 1)
		st.Append(a, func(err error) { done <- err })
		eventually(t, "the store tries often", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.barred > 4*tries || len(done) > 0
		})
		p.set(func() { p.down = false })
		if err := <-done; err != nil {
			t.Errorf("%s: %v", a.Row.ID, err)
		}
	}
}
