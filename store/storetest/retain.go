package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var retainBehaviours = []behaviour{
	{"idle tasks by state and age, whoever's they are", testIdle},
	{"idle tasks of one moment, in pages", testIdleTies},
	{"a deleted task leaves nothing, and its name is free", testDelete},
	{"a task that went on is not deleted", testDeleteFences},
	{"blobs stay as long as a task refers to them", testDeleteBlobs},
	{"tasks of many appends are deleted whole", testDeleteLong},
	{"deletion beside writers and readers", testDeleteRace},
	{"a node cannot claim or write what is deleted", testDeleteClaimed},
}

// finished returns the append of a whole task that ended at a time.
func finished(id string, state int32, at time.Time) *store.Append {
	a := create(name(id), 3)
	a.Row.Active, a.Row.State, a.Row.Updated = false, state, at
	a.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body of " + id)}
	return a
}

func idle(t testing.TB, st store.Store, q store.IdleQuery) []store.Row {
	t.Helper()
	rows, err := st.Idle(t.Context(), q)
	if err != nil {
		t.Fatalf("idle %+v: %v", q, err)
	}
	for i := range rows {
		same(t, "the idle row", rows[i], get(t, st, rows[i].Key, false).Row)
	}
	return rows
}

func remove(t testing.TB, st store.Store, rows ...store.Row) int {
	t.Helper()
	n, err := st.Delete(t.Context(), rows)
	if err != nil {
		t.Fatalf("delete %d tasks: %v", len(rows), err)
	}
	return n
}

func row(t testing.TB, st store.Store, k store.Key) store.Row {
	t.Helper()
	return get(t, st, k, false).Row
}

func idsOf(rows []store.Row) []string {
	var out []string
	for i := range rows {
		out = append(out, rows[i].ID)
	}
	return out
}

func testIdle(t testing.TB, open Opener) {
	st := start(t, open)
	if _, err := st.Idle(t.Context(), store.IdleQuery{State: 3}); err == nil {
		t.Error("a query without a limit was answered")
	}
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	elsewhere := finished("elsewhere", 3, at(2))
	elsewhere.Row.Tenant, elsewhere.Row.Owner = "t2", "o2"
	active := finished("at work", 3, at(1))
	active.Row.Active, active.Seal = true, nil
	must(t, st, finished("third", 3, at(3)), elsewhere, finished("first", 3, at(1)), finished("other state", 4, at(1)),
		finished("young", 3, at(9)), active)
	st = restart(t, st, open)
	q := store.IdleQuery{State: 3, Before: at(9), Limit: 10}
	same(t, "idle", idsOf(idle(t, st, q)), []string{"first", "elsewhere", "third"})
	q.Limit = 2
	page := idle(t, st, q)
	same(t, "a page", idsOf(page), []string{"first", "elsewhere"})
	q.After = &page[1]
	same(t, "the next page", idsOf(idle(t, st, q)), []string{"third"})
	q.After = nil
	q.Before = at(1)
	same(t, "updated before the first", idsOf(idle(t, st, q)), []string(nil))

	// A task that changes its state moves to that state's list; one that becomes active
	// leaves it.
	next := then(elsewhere, 1)
	next.Row.State, next.Row.Updated = 5, at(4)
	must(t, st, next)
	again := then(finished("first", 3, at(1)), 1)
	again.Row.Active = true
	must(t, st, again)
	same(t, "idle afterwards", idsOf(idle(t, st, store.IdleQuery{State: 3, Before: at(99), Limit: 9})), []string{"third", "young"})
	same(t, "in the new state", idsOf(idle(t, st, store.IdleQuery{State: 5, Before: at(99), Limit: 9})), []string{"elsewhere"})
}

func testIdleTies(t testing.TB, open Opener) {
	st := start(t, open)
	var want []store.Key
	for _, tenant := range []string{"", "t", "t\x00"} {
		for i := range 7 {
			a := finished(fmt.Sprint(i), 3, began)
			a.Row.Tenant = tenant
			must(t, st, a)
			want = append(want, a.Row.Key)
		}
	}
	slices.SortFunc(want, store.Key.Compare)
	var got []store.Key
	q := store.IdleQuery{State: 3, Before: began.Add(time.Millisecond), Limit: 4}
	for {
		rows := idle(t, st, q)
		for _, r := range rows {
			got = append(got, r.Key)
		}
		if len(rows) < q.Limit {
			break
		}
		q.After = &rows[len(rows)-1]
	}
	same(t, "in pages", got, want)
}

func testDelete(t testing.TB, open Opener) {
	st := start(t, open)
	a, b := finished("a", 3, began), finished("b", 3, began)
	mine := create(name("a"), 2)
	mine.Row.Owner = "another"
	must(t, st, a, b, mine)
	if n := remove(t, st, row(t, st, a.Row.Key)); n != 1 {
		t.Errorf("%d tasks were deleted, want 1", n)
	}
	for range 2 {
		Check(t, st, a.Row.Key, b.Row.Key, mine.Row.Key)
		_, err := st.Get(t.Context(), a.Row.Key, store.Whole)
		wantError(t, "get", err, store.ErrNotFound)
		same(t, "log", log(t, st, a.Row.Key, 0, 0), []store.Entry(nil))
		same(t, "idle", idsOf(idle(t, st, store.IdleQuery{State: 3, Before: began.Add(time.Hour), Limit: 9})), []string{"b"})
		get(t, st, mine.Row.Key, false)
		st = restart(t, st, open)
	}
	if n := remove(t, st, a.Row, b.Row); n != 0 {
		t.Errorf("%d tasks were deleted by rows without their Last", n)
	}
	refuse(t, st, then(a, 1), store.ErrNotFound)
	if n := remove(t, st); n != 0 {
		t.Errorf("of no tasks %d were deleted", n)
	}
	fresh := create(a.Row.Key, 1) // it inherits nothing of the old task
	must(t, st, fresh, then(fresh, 1))
	if r := get(t, st, a.Row.Key, true); r.Last != 2 || r.Seal != nil {
		t.Errorf("the new task of the name: %+v", r)
	}
	Check(t, st, a.Row.Key, b.Row.Key)
}

func testDeleteFences(t testing.TB, open Opener) {
	st := start(t, open)
	a, b := finished("a", 3, began), finished("b", 3, began)
	must(t, st, a, b)
	was := []store.Row{row(t, st, a.Row.Key), row(t, st, b.Row.Key)}
	must(t, st, then(a, 1)) // reopened
	if n := remove(t, st, was...); n != 1 {
		t.Errorf("%d tasks were deleted, want the one that had not gone on", n)
	}
	get(t, st, a.Row.Key, false)
	if n := remove(t, st, was...); n != 0 {
		t.Errorf("%d tasks were deleted a second time", n)
	}
	for _, change := range []func(*store.Row){
		func(r *store.Row) { r.Epoch++ },
		func(r *store.Row) { r.Updated = r.Updated.Add(time.Millisecond) },
		func(r *store.Row) { r.Last-- },
		func(r *store.Row) { r.Owner = "another" },
	} {
		r := row(t, st, a.Row.Key)
		change(&r)
		if n := remove(t, st, r); n != 0 {
			t.Errorf("deleted by a row that is not the task's: %+v", r)
		}
	}
	r := row(t, st, a.Row.Key)
	r.Updated = r.Updated.Add(time.Microsecond) // finer than the stored time
	if n := remove(t, st, r, r); n != 1 {
		t.Errorf("named twice: %d deleted, want 1", n)
	}
	Check(t, st, a.Row.Key, b.Row.Key)
}

func testDeleteBlobs(t testing.TB, open Opener) {
	st := start(t, open)
	blobs := func(hashes ...string) (out []store.Blob) {
		for _, h := range hashes {
			out = append(out, store.Blob{Hash: h, Data: []byte("data of " + h)})
		}
		return out
	}
	a, b, c := finished("a", 3, began), finished("b", 3, began), finished("c", 3, began)
	a.Blobs = blobs("only a", "a and b", "all")
	b.Blobs = blobs("a and b", "all")
	c.Blobs = blobs("all")
	must(t, st, a, b, c)
	more := then(a, 1)
	more.Blobs = blobs("late", "all")
	must(t, st, more)
	want := func(hashes ...string) {
		t.Helper()
		for _, h := range []string{"only a", "late", "a and b", "all"} {
			_, err := st.Blob(t.Context(), h)
			if slices.Contains(hashes, h) && err != nil || !slices.Contains(hashes, h) && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("blob %q: %v", h, err)
			}
		}
	}
	refers := func(k store.Key, hashes ...string) {
		t.Helper()
		got, err := st.Blobs(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "blobs of "+k.ID, got, hashes)
	}
	refers(a.Row.Key, "a and b", "all", "late", "only a")
	refers(c.Row.Key, "all")
	want("only a", "late", "a and b", "all")
	remove(t, st, row(t, st, a.Row.Key))
	refers(a.Row.Key)
	want("a and b", "all")
	remove(t, st, row(t, st, b.Row.Key))
	want("all")
	st = restart(t, st, open)
	want("all")
	// The blob is deleted with its last task, and stored again with the next one.
	remove(t, st, row(t, st, c.Row.Key))
	want()
	d := finished("d", 3, began)
	d.Blobs = blobs("all")
	must(t, st, d)
	want("all")
	refers(d.Row.Key, "all")
}

func testDeleteLong(t testing.TB, open Opener) {
	st := start(t, open)
	long := create(name("long"), 1)
	batch := []*store.Append{long}
	for i := range 1500 {
		long = then(long, 1)
		if i%100 == 0 {
			long.Blobs = []store.Blob{{Hash: fmt.Sprint("long ", i), Data: []byte("x")}}
		}
		batch = append(batch, long)
	}
	mustAll(t, st, batch)
	rows := []store.Row{row(t, st, long.Row.Key)}
	keys := []store.Key{long.Row.Key}
	for i := range 100 {
		a := finished(fmt.Sprint(i), 3, began)
		must(t, st, a)
		rows, keys = append(rows, row(t, st, a.Row.Key)), append(keys, a.Row.Key)
	}
	if n := remove(t, st, rows...); n != len(rows) {
		t.Errorf("%d of %d tasks were deleted", n, len(rows))
	}
	if _, err := st.Blob(t.Context(), "long 700"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a blob of the long task: %v", err)
	}
	Check(t, st, keys...)
	fresh := create(long.Row.Key, 1)
	must(t, st, fresh)
	same(t, "the log of the new task", log(t, st, fresh.Row.Key, 0, 0), entries(0, 1))
	Check(t, restart(t, st, open), keys...)
}

// testDeleteRace deletes and creates the same tasks again and again. Meanwhile readers see
// each task as a whole or not at all, and a writer of another task with the same blob never
// loses the blob.
func testDeleteRace(t testing.TB, open Opener) {
	st := start(t, open)
	const tasks, rounds = 4, 25
	blob := []store.Blob{{Hash: "shared", Data: []byte("shared")}}
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for i := range tasks {
		k := name(fmt.Sprint(i))
		writers.Go(func() {
			for range rounds {
				a := create(k, 5)
				a.Blobs = blob
				if err := store.Do(t.Context(), st, a); err != nil {
					t.Errorf("create: %v", err)
					return
				}
				b := then(a, 90) // more than a careful driver deletes in one step
				b.Row.Active, b.Seal = false, &store.Seal{Head: []byte("h"), Body: []byte("b")}
				err := store.Do(t.Context(), st, b)
				if err == nil {
					b.Row.Last = 95
					_, err = st.Delete(t.Context(), []store.Row{b.Row})
				}
				if err != nil {
					t.Errorf("finish and delete: %v", err)
					return
				}
			}
		})
		readers.Go(func() {
			for !stop.Load() {
				es, err := st.Entries(t.Context(), k, 0, 0)
				if n := len(es); err != nil || n != 0 && n != 5 && n != 95 {
					t.Errorf("a reader saw %d entries: %v", n, err)
					return
				}
			}
		})
	}
	writers.Go(func() {
		for i := range rounds {
			a := finished(fmt.Sprint("keeper ", i), 3, began)
			a.Blobs = blob
			if err := store.Do(t.Context(), st, a); err != nil {
				t.Errorf("keeper: %v", err)
				return
			}
			if _, err := st.Blob(t.Context(), "shared"); err != nil {
				t.Errorf("the blob of a task that exists: %v", err)
				return
			}
		}
	})
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	var keys []store.Key
	for i := range tasks {
		keys = append(keys, name(fmt.Sprint(i)))
	}
	Check(t, st, keys...)
	if p := list(t, st, store.Query{Tenant: "tenant", Owner: "owner", Limit: 100}); p.Total != rounds {
		t.Errorf("%d tasks are left, want the %d of the keeper", p.Total, rounds)
	}
}

func testDeleteClaimed(t testing.TB, open Opener) {
	st := start(t, open)
	a := owned("a", "dead")
	must(t, st, a)
	was := row(t, st, a.Row.Key)
	claimed := claim(t, st, "me", began, 10)
	if n := remove(t, st, was); n != 0 {
		t.Error("a task was deleted by a row from before its claim")
	}
	if n := remove(t, st, claimed...); n != 1 {
		t.Error("the claimed task was not deleted")
	}
	if rows := claim(t, st, "other", began, 10); len(rows) != 0 {
		t.Errorf("claimed what is deleted: %+v", rows)
	}
	refuse(t, st, then(a, 1), store.ErrNotFound)
}
