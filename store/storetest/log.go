package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var logBehaviours = []behaviour{
	{"a task is as it was written, also after a restart", testKept},
	{"an append fits the log or is refused", testAppendRefused},
	{"a malformed append is refused", testAppendMalformed},
	{"the seal comes, changes and goes", testSeal},
	{"entries come in pages of any size", testEntryPages},
	{"one refused append does not touch the others", testGroupIsolation},
	{"appends of one task apply in the order queued", testQueueOrder},
}

func testKept(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 2)
	b := then(a, 3)
	b.Row.State, b.Row.Updated, b.Row.Turn, b.Row.Attempt = 2, began.Add(time.Second), 4, 2
	b.Row.Active, b.Row.Node, b.Row.Context = false, "", "other"
	b.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
	must(t, st, a, b)

	want := &store.Record{Row: b.Row, Seal: b.Seal, Size: 8}
	want.Last = 5
	for range 2 {
		same(t, "with body", get(t, st, a.Row.Key, true), want)
		same(t, "the row alone", get(t, st, a.Row.Key, false), &store.Record{Row: want.Row})
		same(t, "log", log(t, st, a.Row.Key, 0, 0), entries(0, 5))
		Check(t, st, a.Row.Key)
		st = restart(t, st, open)
	}
	_, err := st.Get(t.Context(), name("unknown"), store.Whole)
	wantError(t, "get an unknown task", err, store.ErrNotFound)
}

func testAppendRefused(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 2)
	refuse(t, st, then(a, 1), store.ErrNotFound)
	must(t, st, a)
	before := get(t, st, a.Row.Key, true)

	refuse(t, st, a, store.ErrConflict)
	for _, after := range []int64{1, 3} {
		wrong := then(a, 1)
		wrong.After, wrong.Entries = after, entries(after, 1)
		refuse(t, st, wrong, store.ErrConflict)
	}
	for _, epoch := range []int64{0, 2} {
		wrong := then(a, 1)
		wrong.Epoch = epoch
		refuse(t, st, wrong, store.ErrLeaseLost)
		wrong.After, wrong.Entries = 1, entries(1, 1)
		refuse(t, st, wrong, store.ErrLeaseLost) // epoch and end are both wrong: the owner must stop
	}
	same(t, "after refusals", get(t, st, a.Row.Key, true), before)
	same(t, "log", log(t, st, a.Row.Key, 0, 0), entries(0, 2))

	// From then on the epoch is the one in the row.
	b := then(a, 1)
	b.Row.Epoch = 7
	must(t, st, b)
	refuse(t, st, then(a, 1), store.ErrLeaseLost)
	must(t, st, then(b, 1))
	Check(t, st, a.Row.Key)
}

func testAppendMalformed(t testing.TB, open Opener) {
	st := start(t, open)
	for what, es := range map[string][]store.Entry{
		"none":         nil,
		"begins late":  entries(1, 1),
		"has a gap":    append(entries(0, 1), entries(2, 1)...),
		"repeats":      append(entries(0, 1), entries(0, 1)...),
		"runs reverse": {entries(1, 1)[0], entries(0, 1)[0]},
	} {
		a := create(name("a"), 1)
		a.Entries = es
		if err := store.Do(t.Context(), st, a); err == nil {
			t.Errorf("an append whose list of entries %s was taken", what)
		}
	}
	_, err := st.Get(t.Context(), name("a"), store.RowOnly)
	wantError(t, "get", err, store.ErrNotFound)
}

func testSeal(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	a.Row.Active = false
	last := a
	for i, seal := range []*store.Seal{
		nil,
		{Head: []byte("h1"), Body: []byte("b1")},
		{Head: []byte("h2"), Body: []byte("b2")},
		nil,
		{Head: nil, Body: nil},
		{Head: []byte("h3"), Body: nil},
	} {
		if i > 0 {
			last = then(last, 1)
		}
		last.Seal = seal
		must(t, st, last)
		same(t, fmt.Sprintf("seal %d", i), get(t, st, a.Row.Key, true).Seal, seal)
		Check(t, st, a.Row.Key)
	}
}

func testEntryPages(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	must(t, st, a)
	total := int64(1)
	for _, n := range []int{1, 7, 2, 100, 1, 1, 30} { // rows of different sizes
		a = then(a, n)
		must(t, st, a)
		total += int64(n)
	}
	all := entries(0, int(total))
	for _, limit := range []int{1, 2, 3, 7, 50, 1000} {
		var got []store.Entry
		for {
			var after int64
			if len(got) > 0 {
				after = got[len(got)-1].Seq
			}
			page := log(t, st, a.Row.Key, after, limit)
			if len(page) > limit {
				t.Fatalf("%d entries, the limit is %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		same(t, fmt.Sprintf("in pages of %d", limit), got, all)
	}
	same(t, "limit 0 means all", log(t, st, a.Row.Key, 0, 0), all)
	same(t, "a negative limit too", log(t, st, a.Row.Key, -5, -1), all)
	same(t, "after the end", log(t, st, a.Row.Key, total, 0), []store.Entry{})
	same(t, "far after the end", log(t, st, a.Row.Key, total+100, 10), []store.Entry{})
	same(t, "of an unknown task", log(t, st, name("unknown"), 0, 0), []store.Entry{})
}

// testGroupIsolation queues good and bad appends at once, so that drivers that commit in
// groups get them in the same group.
func testGroupIsolation(t testing.TB, open Opener) {
	st := start(t, open)
	old := create(name("old"), 2)
	must(t, st, old)
	stale := then(old, 1)
	stale.Epoch = 9
	empty := create(name("empty"), 0)
	var batch []*store.Append
	var want []error
	for i := range 40 {
		batch = append(batch, create(name(fmt.Sprint("good ", i)), 1+i%3))
		want = append(want, nil)
		switch i % 4 {
		case 0:
			batch, want = append(batch, old), append(want, store.ErrConflict)
		case 1:
			batch, want = append(batch, stale), append(want, store.ErrLeaseLost)
		case 2:
			batch, want = append(batch, then(create(name("none"), 1), 1)), append(want, store.ErrNotFound)
		case 3:
			batch, want = append(batch, empty), append(want, errAny)
		}
	}
	for i, err := range queue(st, batch) {
		if want[i] == errAny && err != nil {
			continue
		}
		wantError(t, fmt.Sprintf("append %d", i), err, want[i])
	}
	keys := []store.Key{old.Row.Key, name("empty"), name("none")}
	for _, a := range batch {
		keys = append(keys, a.Row.Key)
	}
	Check(t, st, keys...)
	if p := list(t, st, store.Query{Tenant: "tenant", Owner: "owner", Limit: 1}); p.Total != 41 {
		t.Errorf("%d tasks, want 41", p.Total)
	}
}

// errAny stands for an error that callers do not test for.
var errAny = errors.New("any error")

func testQueueOrder(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	batch := []*store.Append{a}
	for range 300 {
		a = then(a, 2)
		batch = append(batch, a)
	}
	mustAll(t, st, batch)
	same(t, "log", log(t, st, a.Row.Key, 0, 0), entries(0, 601))
	Check(t, st, a.Row.Key)
}
