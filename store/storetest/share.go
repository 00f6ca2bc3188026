package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var shareBehaviours = []behaviour{
	{"the store's clock goes on", testNow},
	{"rows of many tasks", testRows},
	{"a task waits until it is drawn", testDraw},
	{"tenants are drawn from in turn", testDrawTurns},
	{"of a tenant's tasks the oldest is drawn first", testDrawOrder},
	{"tasks that wait are drawn once", testDrawRace},
	{"a task that waits may be drawn again and again", testDrawAgain},
}

// waiting returns the append that begins a task for which no process is free.
func waiting(k store.Key) *store.Append {
	a := create(k, 1)
	a.Row.Node, a.Row.Epoch, a.Row.Attempt = "", 0, 0
	return a
}

// draw draws tasks, and checks that each row is as stored and that its epoch rose by one. It
// returns the tasks' IDs.
func draw(t testing.TB, st store.Store, node, after string, limit int) (ids []string) {
	t.Helper()
	rows, err := st.Draw(t.Context(), node, after, limit)
	if err != nil {
		t.Fatalf("draw for %s: %v", node, err)
	}
	for _, r := range rows {
		same(t, "the row drawn", r, row(t, st, r.Key))
		if r.Node != node {
			t.Errorf("%q was drawn for %s and is with %s", r.ID, node, r.Node)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

func testNow(t testing.TB, open Opener) {
	st := start(t, open)
	var last time.Time
	for limit := time.Now().Add(10 * time.Second); ; {
		now, err := st.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now.Before(last.Add(-time.Millisecond)) {
			t.Errorf("%v after %v", now, last)
		}
		if !last.IsZero() && now.Sub(last) > 0 {
			return
		}
		if last.IsZero() {
			last = now
		}
		if time.Now().After(limit) {
			t.Fatal("the clock stands still")
		}
	}
}

func testRows(t testing.TB, open Opener) {
	st := start(t, open)
	elsewhere := create(name("a"), 2)
	elsewhere.Row.Owner = "other"
	must(t, st, create(name("a"), 1), create(name("b"), 3), elsewhere, waiting(name("waits")), finished("ended", 3, began))
	keys := []store.Key{name("b"), name("unknown"), elsewhere.Row.Key, name("b"), name("waits"), {Tenant: "nobody's"}, name("ended")}
	rows, err := st.Rows(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	got := map[store.Key]store.Row{}
	for _, r := range rows {
		got[r.Key] = r
	}
	want := map[store.Key]store.Row{}
	for _, i := range []int{0, 2, 4, 6} {
		want[keys[i]] = row(t, st, keys[i])
	}
	same(t, "rows", got, want)
	if len(rows) != len(got) {
		t.Errorf("%d rows of %d tasks", len(rows), len(got))
	}
	if rows, err = st.Rows(t.Context(), nil); err != nil || len(rows) != 0 {
		t.Errorf("of no tasks: %v, %v", rows, err)
	}

	var many []store.Key
	var batch []*store.Append
	for i := range 1000 {
		k := name(fmt.Sprint("many ", i))
		if many = append(many, k); i%2 == 0 {
			batch = append(batch, create(k, 1))
		}
	}
	mustAll(t, st, batch)
	if rows, err = st.Rows(t.Context(), many); err != nil || len(rows) != len(batch) {
		t.Errorf("%d rows of %d tasks, %v", len(rows), len(batch), err)
	}
}

func testDraw(t testing.TB, open Opener) {
	st := start(t, open)
	ended := waiting(name("ended"))
	ended.Row.Active = false
	again := create(name("again"), 2) // the task had three owners before
	again.Row.Node, again.Row.Epoch, again.Row.Lost = "", 3, 2
	must(t, st, waiting(name("new")), again, ended, owned("alive", "alive"), owned("dead", "dead"))
	for _, limit := range []int{0, -1} {
		if _, err := st.Draw(t.Context(), "me", "", limit); err == nil {
			t.Errorf("a limit of %d is no error", limit)
		}
	}
	beat(t, st, "alive", began)
	for _, r := range claim(t, st, "claimer", began, 100) {
		if r.ID != "dead" {
			t.Errorf("claimed %s", r.ID)
		}
	}
	st = restart(t, st, open)

	got := draw(t, st, "me", "", 100)
	slices.Sort(got)
	same(t, "drawn", got, []string{"again", "new"})
	for id, want := range map[string]struct {
		epoch int64
		lost  int32
	}{"new": {1, 0}, "again": {4, 2}} {
		if r := row(t, st, name(id)); r.Epoch != want.epoch || r.Lost != want.lost || !r.Active {
			t.Errorf("%s: %+v, want %+v", id, r, want)
		}
	}
	same(t, "drawn again", draw(t, st, "me", "", 100), []string{})
	st = restart(t, st, open)
	same(t, "drawn by another", draw(t, st, "other", "", 100), []string{})

	// From now on it is like any other task: its owner can write, others cannot, and it can
	// be claimed.
	a := then(waiting(name("new")), 1)
	refuse(t, st, a, store.ErrLeaseLost) // the epoch of the process that queued it
	a.Row, a.Epoch = row(t, st, name("new")), 1
	must(t, st, a)
	for _, r := range claim(t, st, "claimer", began, 100) {
		if r.ID == "new" && (r.Epoch != 2 || r.Lost != 1) {
			t.Errorf("claimed: %+v", r)
		}
	}
	same(t, "whose it is", row(t, st, name("new")).Node, "claimer")

	// A task that has ended cannot be drawn, and a waiting task can end without being drawn.
	must(t, st, waiting(name("canceled")))
	end := then(waiting(name("canceled")), 1)
	end.Row.Active = false
	must(t, st, end)
	same(t, "drawn after its end", draw(t, st, "me", "", 100), []string{})
	Check(t, st, name("new"), name("again"), name("ended"), name("canceled"))
}

// inTurn stores waiting tasks of tenants: "aab" means two of a and one of b, each older than
// the next. Their IDs are a1, a2 and b1.
func inTurn(t testing.TB, st store.Store, tenants, owner string) {
	t.Helper()
	var batch []*store.Append
	for i, tenant := range strings.Split(tenants, "") {
		n := 1 + strings.Count(tenants[:i], tenant)
		a := waiting(store.Key{Tenant: tenant, Owner: owner, ID: fmt.Sprint(tenant, n)})
		a.Row.Updated = began.Add(time.Duration(i) * time.Second)
		batch = append(batch, a)
	}
	mustAll(t, st, batch)
}

func testDrawTurns(t testing.TB, open Opener) {
	st := start(t, open)
	for i, c := range []struct {
		waiting, after string
		limit          int
		want           string
	}{
		{"aaab", "", 9, "a1 b1 a2 a3"},
		{"aaab", "a", 9, "b1 a1 a2 a3"},
		{"aaab", "b", 9, "a1 b1 a2 a3"},
		{"bdbdb", "a", 9, "b1 d1 b2 d2 b3"},
		{"bdbdb", "c", 9, "d1 b1 d2 b2 b3"},
		{"bdbdb", "z", 9, "b1 d1 b2 d2 b3"},
		{"aaaaaaabc", "a", 3, "b1 c1 a1"},
		{"aaaaaaabc", "b", 1, "c1"},
		{"aaaaaaabc", "c", 4, "a1 b1 c1 a2"},
		{"aaaa", "a", 2, "a1 a2"},
		{"edcba", "c", 3, "d1 e1 a1"},
	} {
		inTurn(t, st, c.waiting, fmt.Sprint("owner ", i))
		same(t, fmt.Sprintf("%d of %s behind %q", c.limit, c.waiting, c.after), strings.Join(draw(t, st, "me", c.after, c.limit), " "), c.want)
		left := len(draw(t, st, "me", "", 100))
		if want := len(c.waiting) - len(strings.Fields(c.want)); left != want {
			t.Errorf("%d of %s behind %q: %d are left, want %d", c.limit, c.waiting, c.after, left, want)
		}
	}

	// Names of tenants may have any bytes, and are ordered by them.
	names := []string{"", "\x00", "A", "a", "a\x00", "a\x00b", "aa", "ä", "日本", "\xff", "\xff\xfe"}
	for i, n := range names {
		must(t, st, waiting(store.Key{Tenant: n, ID: fmt.Sprint(i)}))
	}
	same(t, "odd names", draw(t, st, "me", "a\x00", 100), []string{"5", "6", "7", "8", "9", "10", "0", "1", "2", "3", "4"})
}

func testDrawOrder(t testing.TB, open Opener) {
	st := start(t, open)
	for i, w := range []struct {
		owner, id string
		at        time.Duration
	}{
		{"o2", "6", 2 * time.Second},
		{"o", "1", -time.Hour},
		{"o", "4", time.Millisecond + 900*time.Microsecond}, // as old as the next
		{"o2", "5", time.Millisecond},
		{"o", "3", time.Millisecond + 100*time.Microsecond},
		{"o", "2", time.Millisecond},
	} {
		a := waiting(store.Key{Tenant: "t", Owner: w.owner, ID: w.id})
		a.Row.Updated, a.Row.Created = began.Add(w.at), began.Add(-time.Duration(i)*time.Hour)
		must(t, st, a)
	}
	same(t, "the first", draw(t, st, "me", "", 2), []string{"1", "2"})
	same(t, "the rest", draw(t, st, "me", "", 9), []string{"3", "4", "5", "6"})
}

// testDrawRace draws concurrently. A Draw may skip tasks that another one is taking, so a
// worker that gets none must go on until all have ended.
func testDrawRace(t testing.TB, open Opener) {
	st := start(t, open)
	drawAtOnce(t, st, st)
}

func drawAtOnce(t testing.TB, stores ...store.Store) {
	t.Helper()
	const tasks, drawers = 60, 8
	var batch []*store.Append
	var keys []store.Key
	for i := range tasks {
		k := store.Key{Tenant: fmt.Sprint("tenant ", i%5), Owner: "owner", ID: fmt.Sprint(i)}
		keys = append(keys, k)
		batch = append(batch, waiting(k))
	}
	mustAll(t, stores[0], batch)
	var mu sync.Mutex
	seen := map[store.Key]string{}
	note := func(node string, rows []store.Row, err error) {
		if err != nil {
			t.Errorf("draw for %s: %v", node, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range rows {
			if was, ok := seen[r.Key]; ok || r.Node != node || r.Epoch != 1 {
				t.Errorf("%s drew %s, which %q has: %+v", node, r.ID, was, r)
			}
			seen[r.Key] = node
		}
	}
	var wg sync.WaitGroup
	for d := range drawers {
		st, node := stores[d%len(stores)], fmt.Sprint("drawer ", d)
		beat(t, st, node, began)
		wg.Go(func() {
			if d%4 == 0 { // a message arrives while its task waits
				for _, k := range keys[d : d+10] {
					if r, err := st.Take(t.Context(), node, began, k); err == nil {
						note(node, []store.Row{*r}, nil)
					}
				}
			}
			for {
				rows, err := st.Draw(t.Context(), node, "tenant 2", 3)
				note(node, rows, err)
				if len(rows) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	rows, err := stores[0].Draw(t.Context(), "last", "", tasks)
	note("last", rows, err)
	if len(seen) != tasks {
		t.Errorf("%d of %d tasks were drawn or taken", len(seen), tasks)
	}
	for k, node := range seen {
		if r := row(t, stores[0], k); r.Node != node || r.Epoch != 1 {
			t.Errorf("%s is %+v, %s drew it", k.ID, r, node)
		}
	}
}

// testDrawAgain: a process may put a task back after its turn, so that the next one gets a
// turn. The cost for others must not grow.
func testDrawAgain(t testing.TB, open Opener) {
	st := start(t, open)
	a := waiting(name("a"))
	must(t, st, a)
	last := a.Entries[0].Seq
	for n := range int64(20) {
		node := fmt.Sprint("node ", n)
		same(t, "drawn", draw(t, st, node, "tenant", 1), []string{"a"})
		r := row(t, st, name("a"))
		if r.Epoch != n+1 {
			t.Fatalf("epoch %d, want %d", r.Epoch, n+1)
		}
		back := &store.Append{Row: r, After: last, Epoch: r.Epoch, Entries: entries(last, 1)}
		back.Row.Node = ""
		must(t, st, back)
		last++
	}
	if r := take(t, st, "taker", began, name("a")); r.Epoch != 21 || r.Lost != 0 {
		t.Errorf("taken: %+v", r)
	}
	same(t, "drawn after it was taken", draw(t, st, "me", "", 9), []string{})
	Check(t, st, name("a"))
}
