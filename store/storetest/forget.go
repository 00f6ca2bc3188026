package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

func forget(t testing.TB, st store.Store, q store.ForgetQuery) int {
	t.Helper()
	n, err := st.Forget(t.Context(), q)
	if err != nil {
		t.Fatalf("forget %+v: %v", q, err)
	}
	return n
}

func testReceiptDelete(t testing.TB, open Opener) {
	st := start(t, open)
	short, kept := signed(finished("short", 3, began), "s1", "s2"), signed(finished("kept", 3, began), "k")
	long := signed(create(name("long"), 1), "l1")
	batch := []*store.Append{short, kept, long, alone("free")}
	for range 400 {
		long = then(long, 1)
		batch = append(batch, long)
	}
	long = signed(then(long, 1), "l2")
	mustAll(t, st, append(batch, long))
	if n := remove(t, st, row(t, st, short.Row.Key), row(t, st, long.Row.Key)); n != 2 {
		t.Fatalf("%d tasks were deleted, want 2", n)
	}
	for range 2 {
		for _, n := range []string{"s1", "s2", "l1", "l2"} {
			if r := lookUp(t, st, name(""), n); r != nil {
				t.Errorf("a receipt of a deleted task: %+v", r)
			}
		}
		if lookUp(t, st, name(""), "k") == nil || lookUp(t, st, name(""), "free") == nil {
			t.Error("a deletion took others' receipts with it")
		}
		Check(t, st, short.Row.Key, long.Row.Key, kept.Row.Key)
		st = restart(t, st, open)
	}
	// The names are free again, also for tasks of the same name.
	again := signed(create(name("long"), 1), "l2", "s1")
	must(t, st, again, alone("s2", "l1"))
	same(t, "the new task's", receipts(t, st, again.Row.Key), issued(again))
	Check(t, st, again.Row.Key, kept.Row.Key)
}

func testForget(t testing.TB, open Opener) {
	st := start(t, open)
	if _, err := st.Forget(t.Context(), store.ForgetQuery{Before: began}); err == nil {
		t.Error("a query without a limit was answered")
	}
	batch := []*store.Append{create(name("task"), 1)}
	for i := range 10 {
		a := alone(fmt.Sprint("alone ", i))
		if i%2 == 0 {
			a = signed(create(name(fmt.Sprint(i)), 1), fmt.Sprint("of a task ", i))
		}
		a.Receipts[0].Until = began.Add(time.Duration(i) * time.Minute)
		a.Row.Context = fmt.Sprint("context ", i%3)
		batch = append(batch, a)
	}
	elsewhere := alone("elsewhere")
	elsewhere.Row.Owner = "other"
	elsewhere.Row.Context = "context 1"
	must(t, st, append(batch, elsewhere)...)
	left := func() (n int) {
		for _, a := range append(batch[1:], elsewhere) {
			if r := lookUp(t, st, a.Row.Key, a.Receipts[0].Name); r != nil {
				same(t, "what is left", r, &issued(a)[0])
				n++
			}
		}
		return n
	}
	at := began.Add(4 * time.Minute) // 0 to 4 have expired
	same(t, "before the first", forget(t, st, store.ForgetQuery{Before: began.Add(-1), Limit: 99}), 0)
	for _, want := range []int{2, 2, 1, 0} {
		same(t, "forgotten by time", forget(t, st, store.ForgetQuery{Before: at.Add(time.Millisecond - 1), Limit: 2}), want)
	}
	same(t, "left", left(), 6)
	st = restart(t, st, open)
	for i, a := range batch[1:] {
		if got := lookUp(t, st, a.Row.Key, a.Receipts[0].Name) != nil; got != (i > 4) {
			t.Errorf("%q is there: %t", a.Receipts[0].Name, got)
		}
	}
	// In context 2 are receipt 5, without a task, and 8 with its task, whose log stays.
	// Before is ignored.
	q := store.ForgetQuery{Tenant: "tenant", Owner: "owner", Context: "context 2", Limit: 1}
	for _, want := range []int{1, 1, 0} {
		same(t, "forgotten by context", forget(t, st, q), want)
	}
	q.Limit, q.Context = 99, "context 1" // 7
	same(t, "of the owner, not of another", forget(t, st, q), 1)
	q.Context = "unknown"
	same(t, "an unknown context", forget(t, st, q), 0)
	same(t, "left", left(), 3) // 6, 9 and elsewhere
	must(t, st, alone("alone 5"))
	for _, a := range batch {
		Check(t, st, a.Row.Key)
	}
}
