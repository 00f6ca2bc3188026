package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var takeBehaviours = []behaviour{
	{"one task is taken if it may be claimed", testTake},
	{"a taken task fences its old owner", testTakeFences},
	{"two takers never get the same task", testTakeRace},
	{"what a node left in good order is free at once and not lost", testLeave},
	{"a beat takes a leave back", testLeaveBack},
	{"a node that left is forgotten with its last task", testLeaveForgotten},
}

// take takes a task and ends the test if that fails.
func take(t testing.TB, st store.Store, node string, deadBefore time.Time, k store.Key) *store.Row {
	t.Helper()
	r, err := st.Take(t.Context(), node, deadBefore, k)
	if err != nil {
		t.Fatalf("take %q for %s: %v", k.ID, node, err)
	}
	same(t, "the row taken", *r, row(t, st, k))
	if r.Node != node {
		t.Errorf("%q was taken for %s and is with %s", k.ID, node, r.Node)
	}
	return r
}

// untaken checks that a task cannot be taken, and that nothing changes.
func untaken(t testing.TB, st store.Store, node string, deadBefore time.Time, k store.Key) {
	t.Helper()
	before, existed := st.Get(t.Context(), k, store.RowOnly)
	if r, err := st.Take(t.Context(), node, deadBefore, k); r != nil || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("take %q for %s: %+v, %v", k.ID, node, r, err)
	}
	if existed == nil {
		same(t, "the row that was not taken", row(t, st, k), before.Row)
	}
}

func leave(t testing.TB, st store.Store, node string) {
	t.Helper()
	if err := st.Leave(t.Context(), node); err != nil {
		t.Fatalf("leave of %s: %v", node, err)
	}
}

func testTake(t testing.TB, open Opener) {
	st := start(t, open)
	ended := owned("ended", "dead")
	ended.Row.Active = false
	elsewhere := owned("dead", "dead") // the same ID
	elsewhere.Row.Owner = "other"
	lostTwice := owned("lost twice", "unregistered")
	lostTwice.Row.Lost = 2
	must(t, st, owned("alive", "alive"), owned("just", "just"), owned("dead", "dead"), owned("also dead", "dead"),
		owned("waiting", ""), owned("own", "me"), ended, elsewhere, lostTwice)
	beat(t, st, "alive", began.Add(time.Second))
	beat(t, st, "just", began)
	beat(t, st, "dead", began.Add(-time.Millisecond))
	st = restart(t, st, open)

	for _, id := range []string{"alive", "just", "own", "ended", "unknown"} {
		untaken(t, st, "me", began, name(id))
	}
	for id, lost := range map[string]int32{"dead": 1, "waiting": 0, "lost twice": 3} {
		if r := take(t, st, "me", began, name(id)); r.Epoch != 2 || r.Lost != lost {
			t.Errorf("%s: epoch %d, lost %d; want 2, %d", id, r.Epoch, r.Lost, lost)
		}
		untaken(t, st, "me", began, name(id)) // it already has this one
	}
	// Nothing else of that node was changed, and the node is still known.
	for _, k := range []store.Key{name("also dead"), elsewhere.Row.Key} {
		if r := row(t, st, k); r.Node != "dead" || r.Epoch != 1 || r.Lost != 0 {
			t.Errorf("%q was touched: %+v", k, r)
		}
	}
	untaken(t, st, "third", began.Add(-time.Hour), name("also dead"))
	st = restart(t, st, open)
	if r := row(t, st, name("dead")); r.Node != "me" || r.Epoch != 2 {
		t.Errorf("after a restart: %+v", r)
	}
	if r := take(t, st, "third", began, name("dead")); r.Epoch != 3 || r.Lost != 2 { // me never sent a Beat
		t.Errorf("taken again: %+v", r)
	}
	Check(t, st, name("alive"), elsewhere.Row.Key)
}

func testTakeFences(t testing.TB, open Opener) {
	st := start(t, open)
	a := owned("a", "old")
	must(t, st, a)
	r := take(t, st, "new", began, a.Row.Key)
	refuse(t, st, then(a, 1), store.ErrLeaseLost)
	refuse(t, st, signed(then(a, 1), "fresh"), store.ErrLeaseLost)
	b := then(a, 1)
	b.Row, b.Epoch = *r, r.Epoch
	must(t, st, signed(b, "fresh"))
	c := then(b, 1)
	c.Row.Active = false
	must(t, st, c)
	untaken(t, st, "third", began, a.Row.Key) // the task has ended
	if n := remove(t, st, *r); n != 0 {
		t.Error("deleted by the row of when it was taken")
	}
	remove(t, st, row(t, st, a.Row.Key))
	untaken(t, st, "third", began, a.Row.Key)
	Check(t, st, a.Row.Key)
}

func testTakeRace(t testing.TB, open Opener) {
	st := start(t, open)
	const takers, tasks = 8, 10
	var keys []store.Key
	for i := range tasks {
		a := owned(fmt.Sprint(i), "dead")
		keys = append(keys, a.Row.Key)
		must(t, st, a)
	}
	var wins atomic.Int64
	var wg sync.WaitGroup
	for i := range takers {
		node := fmt.Sprint("taker ", i)
		beat(t, st, node, began.Add(time.Hour))
		wg.Go(func() {
			for _, k := range keys {
				_, err := st.Take(t.Context(), node, began, k)
				if err == nil {
					wins.Add(1)
				} else if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("take: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if wins.Load() != tasks {
		t.Errorf("%d takes of %d tasks", wins.Load(), tasks)
	}
	for _, k := range keys {
		if r := row(t, st, k); r.Epoch != 2 || r.Lost != 1 {
			t.Errorf("%s: %+v", k.ID, r)
		}
	}
	Check(t, st, keys...)
}

func testLeave(t testing.TB, open Opener) {
	st := start(t, open)
	twice := owned("lost twice", "left")
	twice.Row.Lost = 2
	never := owned("never beat", "never beat")
	must(t, st, owned("a", "left"), owned("b", "left"), twice, never, owned("alive", "alive"), owned("dead", "dead"))
	beat(t, st, "left", began.Add(time.Hour))
	beat(t, st, "alive", began.Add(time.Hour))
	untaken(t, st, "me", began, name("a"))
	leave(t, st, "left")
	leave(t, st, "left")
	leave(t, st, "never beat")
	st = restart(t, st, open)

	long := began.Add(-24 * time.Hour) // no node is dead by this time
	r := take(t, st, "me", long, name("a"))
	if r.Epoch != 2 || r.Lost != 0 {
		t.Errorf("taken from a node that left: %+v", r)
	}
	refuse(t, st, then(owned("a", "left"), 1), store.ErrLeaseLost)
	beat(t, st, "me", began)
	want := map[string]int32{"b": 0, "lost twice": 2, "never beat": 0, "dead": 1}
	for _, r := range claim(t, st, "me", long, 100) {
		lost, ok := want[r.ID]
		if delete(want, r.ID); !ok || r.Lost != lost || r.Epoch != 2 {
			t.Errorf("claimed %s: epoch %d, lost %d; want 2, %d", r.ID, r.Epoch, r.Lost, lost)
		}
	}
	if len(want) > 0 {
		t.Errorf("not claimed: %v", want)
	}
	Check(t, st, name("a"))
}

func testLeaveBack(t testing.TB, open Opener) {
	st := start(t, open)
	must(t, st, owned("a", "node"))
	leave(t, st, "node")
	beat(t, st, "node", began)
	st = restart(t, st, open)
	untaken(t, st, "me", began, name("a"))
	if rows := claim(t, st, "me", began, 9); len(rows) != 0 {
		t.Errorf("claimed from a node that came back: %+v", rows)
	}
	if r := take(t, st, "me", began.Add(time.Millisecond), name("a")); r.Lost != 1 {
		t.Errorf("lost %d after the node came back and died, want 1", r.Lost)
	}
	// A process that left keeps its own tasks, and may take tasks of others.
	must(t, st, owned("b", "dead"))
	leave(t, st, "me")
	untaken(t, st, "me", began, name("a"))
	if r := take(t, st, "me", began, name("b")); r.Lost != 1 {
		t.Errorf("lost %d, want 1", r.Lost)
	}
}

func testLeaveForgotten(t testing.TB, open Opener) {
	st := start(t, open)
	must(t, st, owned("a", "left"), owned("b", "left"))
	beat(t, st, "left", began.Add(time.Hour)) // a later beat time does not keep it from being forgotten
	leave(t, st, "left")
	leave(t, st, "me")
	for range 2 { // a claim that reaches its limit forgets no node
		for _, r := range claim(t, st, "me", began, 1) {
			if r.Lost != 0 {
				t.Errorf("%s: lost %d", r.ID, r.Lost)
			}
		}
	}
	claim(t, st, "me", began, 1)
	must(t, st, owned("late", "left")) // its node is unknown by now
	if r := take(t, st, "other", began, name("late")); r.Lost != 1 {
		t.Errorf("the node that left is still known: %+v", r)
	}
	if r := take(t, st, "other", began, name("a")); r.Lost != 0 { // a claim does not forget the claimer
		t.Errorf("the claimer that left is not known: %+v", r)
	}
	Check(t, st, name("a"), name("b"), name("late"))
}
