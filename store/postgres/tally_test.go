package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// smallScopes makes scopes of few tasks, for a test.
func smallScopes(t testing.TB) {
	big, every := bigScope, sampleEvery
	bigScope, sampleEvery = 8, 1
	t.Cleanup(func() { bigScope, sampleEvery = big, every })
}

// Contexts with one task are not counted, however many there are, and one that grows is.
func TestOneTaskIsNoScope(t *testing.T) {
	smallScopes(t)
	w := &writer{s: &Store{db: &db{}, growing: make(chan scopeName, 2*maxSampled)}, sampled: map[scopeName]struct{}{}}
	for i := range maxSampled + 9 {
		w.grows(scopeName{"t", "o", fmt.Sprint(i)})
	}
	if n := len(w.s.growing); n > 0 {
		t.Errorf("%d of %d contexts with a task are counted", n, maxSampled+9)
	}
	w.grows(scopeName{"t", "o", fmt.Sprint(maxSampled)})
	if n := len(w.s.growing); n != 1 {
		t.Errorf("of a context with two tasks %d were looked at", n)
	}
}

// wrongTallies counts the tallies that differ from the tasks, in scopes that are fully
// counted.
var wrongTallies = `
	WITH scope AS (SELECT * FROM parley.scope AS c WHERE NOT ` + unfinished("c.key") + `)
	SELECT count(*) FROM
		(SELECT scope, state, width, piece, sum(n) AS n FROM parley.tally WHERE scope IN (SELECT key FROM scope) GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0) AS a
	FULL JOIN
		(SELECT c.key AS scope, t.state, w.width, CASE w.width WHEN 0 THEN 0 ELSE t.updated >> w.width END AS piece, count(*) AS n
		FROM scope AS c JOIN parley.task AS t ON t.tenant = c.tenant AND t.owner = c.owner AND c.context IN ('', t.context)
		CROSS JOIN unnest(ARRAY[` + widthList() + `]) AS w (width) GROUP BY 1, 2, 3, 4) AS b
	USING (scope, state, width, piece) WHERE a.n IS DISTINCT FROM b.n`

// countedNot counts scopes that are not fully counted.
const countedNot = "SELECT count(*) FROM parley.tally WHERE width = -1"

func widthList() string {
	var all []string
	for _, width := range widths {
		all = append(all, fmt.Sprint(width))
	}
	return strings.Join(all, ", ")
}

// A scope that is created when its tasks have just been deleted is dropped again.
func TestScopeOfAnErasedOwnerGoes(t *testing.T) {
	w := newWorld(t)
	if err := w.countScope(t.Context(), scopeName{"tenant", "erased", ""}); err != nil {
		t.Fatal(err)
	}
	w.until(0, "SELECT (SELECT count(*) FROM parley.scope) + (SELECT count(*) FROM parley.tally)")
}

// TestTalliesAreExact: whatever several processes write, move and delete while scopes come
// and go, tallies equal a count.
func TestTalliesAreExact(t *testing.T) {
	smallScopes(t)
	w := newWorld(t)
	processes := []*Store{w.Store, opened(t, w.address), opened(t, w.address)}
	began := time.Now()
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			s := processes[i%len(processes)]
			for n := range 10 {
				a := newTask(fmt.Sprint(i, "-", n), 1)
				a.Row.Owner = fmt.Sprint("owner ", r.IntN(3))
				a.Row.Context = fmt.Sprint("context ", r.IntN(3))
				for range 1 + r.IntN(4) {
					a.Row.State = int32(1 + r.IntN(3))
					a.Row.Updated = began.Add(time.Duration(r.IntN(60*24)) * time.Minute)
					if err := store.Do(t.Context(), s, a); err != nil {
						t.Error(err)
						return
					}
					s = processes[r.IntN(len(processes))]
					a = goesOn(a, 1)
				}
				if r.IntN(3) == 0 {
					row := a.Row
					row.Last = a.After
					row.Updated = rowOf(t, s, row.Key).Updated
					if n, err := s.Delete(t.Context(), []store.Row{row}); n != 1 || err != nil {
						t.Errorf("%d deleted: %v", n, err)
					}
				}
			}
		})
	}
	wg.Wait()
	w.until(0, countedNot)
	if n := w.count("SELECT count(*) FROM parley.scope"); n < 3 {
		t.Errorf("%d scopes", n)
	}
	if n := w.count(wrongTallies); n != 0 {
		t.Errorf("%d tallies are wrong", n)
	}
	for owner := range 3 {
		q := store.Query{Tenant: "tenant", Owner: fmt.Sprint("owner ", owner), Limit: 1, Since: began.Add(7*time.Hour + 13*time.Millisecond)}
		for _, s := range processes {
			p, err := s.List(t.Context(), q)
			want := w.count("SELECT count(*) FROM parley.task WHERE owner = $1 AND updated >= $2", arg(q.Owner), q.Since.UnixMilli())
			if err != nil || int64(p.Total) != want {
				t.Errorf("a total is %d, want %d: %v", p.Total, want, err)
			}
		}
	}

	// Nothing remains of an erased owner, and one that returns is counted again.
	for {
		rows, err := w.Tasks(t.Context(), nil, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		if _, err := w.Delete(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	w.until(0, "SELECT (SELECT count(*) FROM parley.scope) + (SELECT count(*) FROM parley.tally)")
	for i := 0; i < 20 || w.count("SELECT count(*) FROM parley.scope") < 2; i++ { // the owner, and the context
		a := newTask(fmt.Sprint("again ", i), 1)
		a.Row.Owner = "owner 0"
		if err := store.Do(t.Context(), processes[i%3], a); err != nil {
			t.Fatal(err)
		}
	}
	w.until(0, countedNot)
	if n := w.count(wrongTallies); n != 0 {
		t.Errorf("%d tallies are wrong", n)
	}
}

func rowOf(t testing.TB, s *Store, k store.Key) *store.Row {
	t.Helper()
	r, err := s.Get(context.Background(), k, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	return &r.Row
}

// TestNoTallies: without advisory locks there are no tallies, and lists are right.
func TestNoTallies(t *testing.T) {
	smallScopes(t)
	w := newWorld(t)
	s := opened(t, w.address+"&advisory=off")
	for i := range 30 {
		if err := store.Do(t.Context(), s, newTask(fmt.Sprint(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.List(t.Context(), store.Query{Tenant: "tenant", Owner: "owner", Limit: 1})
	if err != nil || p.Total != 30 {
		t.Errorf("total %d: %v", p.Total, err)
	}
	if n := w.count("SELECT count(*) FROM parley.scope"); n != 0 {
		t.Errorf("%d scopes", n)
	}
}

// TestCountingStopsNobody: while the tasks of an owner are counted, page by page, others
// write, move and delete them, and lists are right. If the counting process ends, another one
// counts again.
func TestCountingStopsNobody(t *testing.T) {
	smallScopes(t)
	page := countPage
	countPage = 16
	t.Cleanup(func() { countPage = page })
	w := newWorld(t)
	off := opened(t, w.address+"&advisory=off")
	var tasks []*store.Append
	for i := range 100 {
		a := newTask(fmt.Sprint(i), 1)
		a.Row.State, a.Row.Updated = int32(1+i%2), time.UnixMilli(int64(i/20)*60_000) // 20 of each time, more than a page has
		tasks = append(tasks, a)
		if err := store.Do(t.Context(), off, a); err != nil {
			t.Fatal(err)
		}
	}
	right := func(s *Store) {
		t.Helper()
		for _, q := range []store.Query{{}, {State: 1}, {Since: time.UnixMilli(60_000)}} {
			q.Tenant, q.Owner, q.Limit = "tenant", "owner", 1
			p, err := s.List(t.Context(), q)
			want := sql(t, w.address, fmt.Sprintf("SELECT count(*) FROM parley.task WHERE (%d = 0 OR state = %[1]d) AND updated >= %d", q.State, max(0, q.Since.UnixMilli())))
			if err != nil || fmt.Sprint(p.Total) != want {
				t.Errorf("of state %d since %v: a total of %d, want %s: %v", q.State, q.Since, p.Total, want, err)
			}
			q.Owner, q.AnyOwner = "", true
			if p, err = s.List(t.Context(), q); err != nil || fmt.Sprint(p.Total) != want {
				t.Errorf("of any owner: a total of %d, want %s: %v", p.Total, want, err)
			}
		}
	}
	other := opened(t, w.address)
	ctx, end := context.WithCancel(t.Context())
	var mu sync.Mutex
	pages, done := 0, make(chan struct{})
	disturb := func(by *Store) {
		mu.Lock() // one counts at a time, but which one it is may change
		defer mu.Unlock()
		right(by)
		a := tasks[10*pages]
		if pages++; pages%2 == 0 {
			if n, err := by.Delete(t.Context(), []store.Row{*rowOf(t, by, a.Row.Key)}); n != 1 || err != nil {
				t.Errorf("%d deleted: %v", n, err)
			}
		} else {
			a = goesOn(a, 1)
			a.Row.State, a.Row.Updated = 3, time.UnixMilli(7*60_000)
			if err := store.Do(t.Context(), by, a); err != nil {
				t.Error(err)
			}
		}
		if pages == 2 {
			end() // as if the process did
		}
		if sql(t, w.address, countedNot) == "0" {
			close(done)
		}
	}
	w.afterCount = func() { disturb(other) }
	other.afterCount = func() { disturb(w.Store) }
	if err := w.promoteOne(ctx, scopeName{"tenant", "owner", ""}); err == nil {
		t.Fatal("it was counted by a process that ended")
	}
	for over := false; !over; { // the end of the counting may be noticed a little later
		select {
		case <-done:
			over = true
		case <-t.Context().Done():
			over = true
		default:
			if _, err := other.List(t.Context(), store.Query{Tenant: "tenant", Owner: "owner", Limit: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if pages < 6 {
		t.Errorf("%d pages were counted", pages)
	}
	right(other)
	if n := w.count(wrongTallies); n != 0 || w.count("SELECT count(DISTINCT scope) FROM parley.tally") != 1 {
		t.Errorf("%d tallies are wrong", n)
	}
	right(opened(t, w.address+"&advisory=off")) // this store updates no tallies
	if n := w.count("SELECT (SELECT count(*) FROM parley.scope) + (SELECT count(*) FROM parley.tally)"); n != 0 {
		t.Errorf("%d scopes and tallies are left", n)
	}
	right(other)
}

// TestHugeAppend: a too large append is refused with that reason; others can be read as they
// were written.
func TestHugeAppend(t *testing.T) {
	if testing.Short() {
		t.Skip("many megabytes")
	}
	w := mustOpen(t, copied(t), &Options{wait: 5 * time.Minute}) // so much takes its time on a busy machine
	a := newTask("huge", 1)
	a.Entries[0].Body = make([]byte, maxAppend)
	if err := store.Do(t.Context(), w, a); err == nil {
		t.Error("it was written")
	}
	a.Entries[0].Body = make([]byte, maxAppend-1024)
	rand.NewChaCha8([32]byte{}).Read(a.Entries[0].Body)
	if err := store.Do(t.Context(), w, a); err != nil {
		t.Fatal(err)
	}
	es, err := w.Entries(t.Context(), a.Row.Key, 0, 0)
	if err != nil || len(es) != 1 || string(es[0].Body) != string(a.Entries[0].Body) {
		t.Errorf("%d entries: %v", len(es), err)
	}
	if err := store.Do(t.Context(), w, a); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
}

var bytes300 = fmt.Appendf(nil, "%0300d", 0)

// newTask is the append that begins a task with n entries.
func newTask(id string, n int) *store.Append {
	now := time.Now()
	a := &store.Append{Row: store.Row{
		Key: store.Key{Tenant: "tenant", Owner: "owner", ID: id}, Context: "context", State: 1, Updated: now, Created: now,
		Active: true, Node: "node", Epoch: 1, Turn: 1, Attempt: 1,
	}}
	for i := range n {
		a.Entries = append(a.Entries, store.Entry{Seq: int64(i + 1), Time: now, Kind: 1, Body: bytes300[:100]})
	}
	return a
}

// TestScopesOfARestoredDatabase: a database that was restored while a process runs, or a
// standby that lacked the last commits, has fewer changes of the scopes than the process has
// seen. The process can write to it nevertheless.
func TestScopesOfARestoredDatabase(t *testing.T) {
	w := newWorld(t)
	w.exec("SELECT setval('parley.scope_change', 9)")
	if err := store.Do(t.Context(), w, newTask("before", 1)); err != nil {
		t.Fatal(err)
	}
	w.exec("SELECT setval('parley.scope_change', 5)")
	if err := store.Do(t.Context(), w, newTask("after", 1)); err != nil {
		t.Error(err)
	}
}

// TestDeletionOutlivesItsCaller: a deletion that has begun continues when its caller gives
// up, also if it changes tallies.
func TestDeletionOutlivesItsCaller(t *testing.T) {
	smallScopes(t)
	sampleEvery = 1 << 30 // the scope is made here
	w := newWorld(t)
	for i := range 9 {
		if err := store.Do(t.Context(), w, newTask(fmt.Sprint(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.promoteOne(t.Context(), scopeName{"tenant", "owner", ""}); err != nil {
		t.Fatal(err)
	}
	row := *rowOf(t, w.Store, newTask("0", 1).Row.Key)
	w.exec("SELECT pg_advisory_lock($1)", int64(tallyLock))
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		n, err := w.Delete(ctx, []store.Row{row})
		if err != nil && !errors.Is(err, context.Canceled) { // Delete reports it for the rest of the log, which it purges later
			t.Error(err)
		}
		ended <- n
	}()
	w.until(1, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
	leave()
	w.exec("SELECT pg_advisory_unlock($1)", int64(tallyLock))
	if n := <-ended; n != 1 {
		t.Errorf("%d tasks deleted", n)
	}
	if n := w.count(wrongTallies); n != 0 {
		t.Errorf("%d tallies are wrong", n)
	}
}

// TestErasedOwnerLeavesNoScope: the name of an owner whose tasks are deleted does not stay in
// the database, even if the store is closed right afterwards.
func TestErasedOwnerLeavesNoScope(t *testing.T) {
	smallScopes(t)
	sampleEvery = 1 << 30 // scopes are made here
	w := newWorld(t)
	var rows []store.Row
	for i := range 18 {
		a := newTask(fmt.Sprint(i), 1)
		if a.Row.Owner = "other"; i%2 == 0 {
			a.Row.Owner = "erased"
		}
		if err := store.Do(t.Context(), w, a); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			rows = append(rows, *rowOf(t, w.Store, a.Row.Key))
		}
	}
	if err := w.promoteOne(t.Context(), scopeName{"tenant", "erased", ""}); err != nil {
		t.Fatal(err)
	}
	const left = "SELECT count(*) FROM parley.scope WHERE owner = 'erased'"
	if n := w.count(left); n != 1 {
		t.Fatalf("%d scopes", n)
	}
	busy, goOn := make(chan struct{}), make(chan struct{})
	w.afterCount = func() { close(busy); <-goOn }
	w.growing <- scopeName{"tenant", "other", ""} // keeps promote busy
	<-busy
	if n, err := w.Delete(t.Context(), rows); n != len(rows) || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	closed := make(chan error, 1)
	go func() { closed <- w.Close() }()
	<-w.over.Done()
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := w.count(left); n != 0 {
		t.Errorf("%d scopes of the erased owner are left", n)
	}
}
