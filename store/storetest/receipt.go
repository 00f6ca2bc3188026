package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var receiptBehaviours = []behaviour{
	{"a receipt comes with its entries and stays", testReceipt},
	{"a receipt that counts refuses what else would be applied", testReceiptRefuses},
	{"a refused append leaves everything as it was", testReceiptAtomic},
	{"of two appends with one receipt the first is applied", testReceiptQueue},
	{"a receipt counts until its time and not at it", testReceiptUntil},
	{"receipts where there is no task", testReceiptAlone},
	{"malformed receipts are refused", testReceiptMalformed},
	{"receipts have any name and content, and belong to their owner", testReceiptNames},
	{"receipts go with their task", testReceiptDelete},
	{"receipts are forgotten by time and by context", testForget},
}

// receipt returns a receipt that is valid for an hour, for the entry with a seq.
func receipt(name string, seq int64) store.Receipt {
	return store.Receipt{
		Name: name, Time: began, Until: began.Add(time.Hour),
		Digest: []byte("digest of " + name), Seq: seq,
	}
}

// signed adds receipts for its first entry to an append.
func signed(a *store.Append, names ...string) *store.Append {
	for _, n := range names {
		a.Receipts = append(a.Receipts, receipt(n, a.After+1))
	}
	return a
}

// alone returns an append of receipts without a task.
func alone(names ...string) *store.Append {
	a := &store.Append{Row: store.Row{Key: name(""), Context: "context"}}
	for _, n := range names {
		r := receipt(n, 0)
		r.Answer = []byte("answer to " + n)
		a.Receipts = append(a.Receipts, r)
	}
	return a
}

// issued returns the stored form of an append's receipts, in their order.
func issued(a *store.Append) []store.Receipt {
	var rs []store.Receipt
	for _, r := range a.Receipts {
		r.TaskID, r.Context = a.Row.ID, a.Row.Context
		r.Time, r.Until = store.Milli(r.Time), store.Milli(r.Until)
		rs = append(rs, r)
	}
	return rs
}

// lookUp returns the receipt with a name, or nil.
func lookUp(t testing.TB, st store.Store, k store.Key, name string) *store.Receipt {
	t.Helper()
	r, err := st.Receipt(t.Context(), k, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatalf("receipt %q: %v", name, err)
	}
	return r
}

func receipts(t testing.TB, st store.Store, k store.Key) []store.Receipt {
	t.Helper()
	rs, err := st.Receipts(t.Context(), k)
	if err != nil {
		t.Fatalf("receipts of %q: %v", k.ID, err)
	}
	return rs
}

func testReceipt(t testing.TB, open Opener) {
	st := start(t, open)
	a := signed(create(name("a"), 2), "z", "b")
	a.Receipts[0].TaskID, a.Receipts[0].Context = "ignored", "ignored"
	a.Receipts[0].Time = began.Add(999 * time.Microsecond).In(time.FixedZone("elsewhere", 3600))
	b := signed(then(a, 1), "m")
	b.Row.Context = "moved"
	other := signed(create(name("other"), 1), "other's")
	must(t, st, a, b, other)
	z, m := issued(a)[0], issued(b)[0]
	z.Context = "moved" // receipts have the task's context, even if it changes later
	first := issued(a)[1]
	first.Context = "moved"
	for range 2 {
		same(t, "of the task, by name", receipts(t, st, a.Row.Key), []store.Receipt{first, m, z})
		same(t, "of the other", receipts(t, st, other.Row.Key), issued(other))
		same(t, "one", lookUp(t, st, store.Key{Tenant: "tenant", Owner: "owner"}, "z"), &z)
		same(t, "one, whatever the task", lookUp(t, st, name("other"), "m"), &m)
		same(t, "of an unknown task", receipts(t, st, name("unknown")), []store.Receipt(nil))
		if r := lookUp(t, st, name("a"), "unknown"); r != nil {
			t.Errorf("an unknown name: %+v", r)
		}
		Check(t, st, a.Row.Key, other.Row.Key)
		clear(lookUp(t, st, a.Row.Key, "z").Digest) // the caller owns these bytes
		clear(receipts(t, st, a.Row.Key)[0].Digest)
		same(t, "one whose bytes a caller changed", lookUp(t, st, a.Row.Key, "z"), &z)
		st = restart(t, st, open)
	}
}

// testReceiptRefuses tests the order of errors: a caller that lost its lease must learn that,
// and one that expected an old end must read on.
func testReceiptRefuses(t testing.TB, open Opener) {
	st := start(t, open)
	a := signed(create(name("a"), 2), "taken")
	must(t, st, a)
	refuse(t, st, signed(create(name("b"), 1), "taken"), store.ErrDuplicate)
	refuse(t, st, signed(then(a, 1), "taken"), store.ErrDuplicate)
	refuse(t, st, signed(then(a, 1), "fresh", "taken"), store.ErrDuplicate)
	refuse(t, st, alone("taken"), store.ErrDuplicate)
	refuse(t, st, alone("fresh", "taken"), store.ErrDuplicate)

	refuse(t, st, signed(create(name("a"), 1), "taken"), store.ErrConflict)
	late := signed(then(a, 1), "taken")
	late.After, late.Entries = 1, entries(1, 1)
	refuse(t, st, late, store.ErrConflict)
	lost := signed(then(a, 1), "taken")
	lost.Epoch = 9
	refuse(t, st, lost, store.ErrLeaseLost)
	refuse(t, st, signed(then(create(name("none"), 1), 1), "taken"), store.ErrNotFound)
	empty := signed(create(name("b"), 0), "taken")
	if err := store.Do(t.Context(), st, empty); err == nil || errors.Is(err, store.ErrDuplicate) {
		t.Errorf("a malformed append with a receipt that counts: %v", err)
	}
	// None of these stored a receipt.
	must(t, st, signed(create(name("b"), 1), "fresh"))
	Check(t, st, name("a"), name("b"), name("none"))
}

// state returns the stored state of a task and of names, for comparisons.
func state(t testing.TB, st store.Store, k store.Key, names ...string) []any {
	t.Helper()
	all := []any{log(t, st, k, 0, 0), receipts(t, st, k)}
	if r, err := st.Get(t.Context(), k, store.Whole); err == nil {
		all = append(all, *r)
	}
	blobs, err := st.Blobs(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, blobs, pushes(t, st, k, 99))
	for _, n := range names {
		if r := lookUp(t, st, k, n); r != nil {
			all = append(all, *r)
		}
		_, err := st.Blob(t.Context(), n)
		all = append(all, errors.Is(err, store.ErrNotFound))
	}
	return all
}

func testReceiptAtomic(t testing.TB, open Opener) {
	st := start(t, open)
	a := signed(create(name("a"), 2), "taken")
	a.Row.Active = false
	a.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
	must(t, st, a)
	names := []string{"taken", "fresh"} // of receipts and of blobs
	before := state(t, st, a.Row.Key, names...)
	absent := state(t, st, name("b"), names...)
	spoiled := func(a *store.Append, names ...string) *store.Append {
		a.Row.State, a.Row.Active, a.Row.Context = 9, true, "other"
		a.Blobs = []store.Blob{{Hash: "fresh", Data: []byte("data")}}
		return signed(a, names...)
	}
	stale := spoiled(then(a, 1), "fresh")
	stale.Epoch = 7
	for what, x := range map[string]struct {
		a    *store.Append
		want error
	}{
		"a duplicate":                {spoiled(then(a, 2), "fresh", "taken"), store.ErrDuplicate},
		"a duplicate in another":     {spoiled(create(name("b"), 2), "fresh", "taken"), store.ErrDuplicate},
		"a duplicate without a task": {alone("fresh", "taken"), store.ErrDuplicate},
		"a conflict":                 {spoiled(create(name("a"), 1), "fresh"), store.ErrConflict},
		"a lost lease":               {stale, store.ErrLeaseLost},
	} {
		refuse(t, st, x.a, x.want)
		same(t, "the task after "+what, state(t, st, a.Row.Key, names...), before)
		same(t, "another after "+what, state(t, st, name("b"), names...), absent)
	}
	st = restart(t, st, open)
	same(t, "the task after a restart", state(t, st, a.Row.Key, names...), before)
	Check(t, st, a.Row.Key, name("b"))
}

// testReceiptQueue queues appends with the same receipts at once, so that drivers that commit
// in groups get them in the same group.
func testReceiptQueue(t testing.TB, open Opener) {
	st := start(t, open)
	first := signed(create(name("first"), 1), "one")
	empty := signed(create(name("empty"), 0), "two") // refused: its name stays free
	batch := []*store.Append{
		signed(create(name("plain"), 1), "plain"), first, signed(create(name("second"), 1), "one", "unused"),
		empty, signed(then(first, 1), "one"), signed(then(first, 1), "two"), alone("two"), alone("three"), alone("three"),
		signed(create(name("last"), 1), "unused"),
	}
	want := []error{nil, nil, store.ErrDuplicate, errAny, store.ErrDuplicate, nil, store.ErrDuplicate, nil, store.ErrDuplicate, nil}
	for i, err := range queue(st, batch) {
		if want[i] == errAny && err != nil && !errors.Is(err, store.ErrDuplicate) {
			continue
		}
		wantError(t, fmt.Sprintf("append %d", i), err, want[i])
	}
	same(t, "one", lookUp(t, st, name(""), "one").TaskID, "first")
	same(t, "two", lookUp(t, st, name(""), "two").TaskID, "first")
	same(t, "unused", lookUp(t, st, name(""), "unused").TaskID, "last")
	Check(t, st, name("plain"), name("first"), name("second"), name("empty"), name("last"))

	// Many at once: only one can succeed.
	const writers = 32
	errs := make([]error, writers)
	keys := make([]store.Key, writers)
	var wg sync.WaitGroup
	for w := range writers {
		keys[w] = name(fmt.Sprint("racer ", w))
		wg.Go(func() { errs[w] = store.Do(t.Context(), st, signed(create(keys[w], 1), "race")) })
	}
	wg.Wait()
	winners := 0
	for w, err := range errs {
		if err == nil {
			winners++
			same(t, "whose receipt it is", lookUp(t, st, keys[w], "race").TaskID, keys[w].ID)
		} else {
			wantError(t, "a loser", err, store.ErrDuplicate)
		}
	}
	if winners != 1 {
		t.Errorf("%d appends with the same receipt were applied", winners)
	}
	Check(t, restart(t, st, open), keys...)
}

func testReceiptUntil(t testing.TB, open Opener) {
	st := start(t, open)
	at := func(a *store.Append, taken time.Time) *store.Append {
		for i := range a.Receipts {
			a.Receipts[i].Time, a.Receipts[i].Until = taken, taken.Add(time.Hour)
		}
		return a
	}
	a := signed(create(name("a"), 1), "n", "kept")
	must(t, st, a)
	for _, early := range []time.Duration{-24 * time.Hour, 0, time.Hour - time.Millisecond, time.Hour - time.Nanosecond} {
		refuse(t, st, at(signed(create(name("b"), 1), "n"), began.Add(early)), store.ErrDuplicate)
		refuse(t, st, at(alone("n"), began.Add(early)), store.ErrDuplicate)
	}
	b := at(signed(create(name("b"), 1), "n"), began.Add(time.Hour))
	must(t, st, b)
	for range 2 {
		same(t, "the new one", lookUp(t, st, name(""), "n"), &issued(b)[0])
		same(t, "of the new task", receipts(t, st, b.Row.Key), issued(b))
		same(t, "of the old task", receipts(t, st, a.Row.Key), issued(a)[1:])
		st = restart(t, st, open)
	}
	// An expired receipt of a task can be replaced by the same task, and by a receipt without
	// a task, and the other way round.
	c := at(signed(then(b, 1), "n"), began.Add(2*time.Hour))
	must(t, st, c, at(alone("n"), began.Add(3*time.Hour)))
	same(t, "of the task that lost it", receipts(t, st, b.Row.Key), []store.Receipt(nil))
	d := at(signed(then(c, 1), "n"), began.Add(4*time.Hour))
	must(t, st, d)
	same(t, "with a task again", receipts(t, st, b.Row.Key), issued(d))
	Check(t, st, a.Row.Key, b.Row.Key)

	// A receipt that was never valid, because it ends before it begins.
	never := signed(create(name("never"), 1), "never")
	never.Receipts[0].Until = began.Add(-time.Second)
	must(t, st, never, signed(create(name("after"), 1), "never"))
	same(t, "it was replaced", lookUp(t, st, name(""), "never").TaskID, "after")
}

func testReceiptAlone(t testing.TB, open Opener) {
	st := start(t, open)
	a := alone("b", "a")
	must(t, st, a, create(name("task"), 1))
	nameless := create(name(""), 1) // a task with an empty ID has nothing to do with receipts without a task
	must(t, st, signed(nameless, "its own"))
	for range 2 {
		for i, r := range issued(a) {
			same(t, "alone", lookUp(t, st, name("any"), a.Receipts[i].Name), &r)
		}
		same(t, "of the task without a name", receipts(t, st, nameless.Row.Key), issued(nameless))
		Check(t, st, name("task"), nameless.Row.Key)
		st = restart(t, st, open)
	}
	remove(t, st, row(t, st, nameless.Row.Key), row(t, st, name("task")))
	if lookUp(t, st, name(""), "a") == nil || lookUp(t, st, name(""), "its own") != nil {
		t.Error("the task without a name took others' receipts with it, or left its own")
	}
	if p := list(t, st, store.Query{Tenant: "tenant", Owner: "owner", Limit: 1}); p.Total != 0 {
		t.Errorf("receipts without a task made %d tasks", p.Total)
	}
}

func testReceiptMalformed(t testing.TB, open Opener) {
	st := start(t, open)
	change := func(a *store.Append, f func(*store.Append)) *store.Append { f(a); return a }
	for what, a := range map[string]*store.Append{
		"without a name":          signed(create(name("a"), 1), "fresh", ""),
		"alone without a name":    alone("fresh", ""),
		"twice the same":          signed(create(name("a"), 1), "fresh", "other", "fresh"),
		"alone, twice the same":   alone("fresh", "fresh"),
		"alone with an ID":        change(alone("fresh"), func(a *store.Append) { a.Row.ID = "a" }),
		"alone with a seal":       change(alone("fresh"), func(a *store.Append) { a.Seal = &store.Seal{} }),
		"alone with blobs":        change(alone("fresh"), func(a *store.Append) { a.Blobs = []store.Blob{{Hash: "h"}} }),
		"alone behind an entry":   change(alone("fresh"), func(a *store.Append) { a.After = 1 }),
		"neither entries nor any": {Row: create(name("a"), 1).Row},
	} {
		if err := store.Do(t.Context(), st, a); err == nil {
			t.Errorf("receipts %s were taken", what)
		}
	}
	if r := lookUp(t, st, name(""), "fresh"); r != nil {
		t.Errorf("a receipt of a refused append: %+v", r)
	}
	Check(t, st, name("a"))
}

func testReceiptNames(t testing.TB, open Opener) {
	st, odd := start(t, open), oddNames[1:]
	big := bytes.Repeat([]byte("0123456789"), 10_000)
	var batch []*store.Append
	for i, n := range odd {
		for _, k := range []store.Key{
			{Tenant: "t", Owner: "o"}, {Tenant: "t", Owner: n}, {Tenant: n, Owner: "o"}, {Tenant: "t" + n, Owner: ""}, {Tenant: "", Owner: "t" + n},
		} {
			a := create(k, 1)
			if i%2 == 0 {
				a = &store.Append{Row: store.Row{Key: k, Context: n}}
			} else {
				a.Row.ID = n
			}
			r := receipt(n, int64(i%2))
			r.Digest, r.Answer = fmt.Append(nil, "digest ", len(batch)), big[:len(big)*i/len(odd)]
			if i == 0 {
				r.Digest, r.Answer = nil, big
			}
			a.Receipts = []store.Receipt{r}
			batch = append(batch, a)
		}
	}
	mustAll(t, st, batch)
	st = restart(t, st, open)
	for _, a := range batch {
		same(t, fmt.Sprintf("receipt %q", a.Receipts[0].Name), lookUp(t, st, a.Row.Key, a.Receipts[0].Name), &issued(a)[0])
		refuse(t, st, &store.Append{Row: store.Row{Key: a.Row.Key.Scope()}, Receipts: a.Receipts}, store.ErrDuplicate)
	}
	if r := lookUp(t, st, store.Key{Tenant: "t", Owner: "stranger"}, "a"); r != nil {
		t.Errorf("a stranger's receipt: %+v", r)
	}
}
