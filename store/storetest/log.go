package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
	{"64 writers and as many readers", testConcurrent},
	{"times have milliseconds and are UTC", testTimes},
	{"keys are any text and belong to their owner", testKeys},
	{"large bodies", testLarge},
	{"returned bytes belong to the caller", testBytesAreCopies},
	{"blobs are stored once", testBlobs},
	{"a context that has ended ends a read", testEndedContext},
	{"a closed store says so", testClosed},
	{"close waits for queued appends", testCloseWaits},
}

func testKept(t *testing.T, open Opener) {
	st := start(t, open)
	a := create(name("a"), 2)
	b := then(a, 3)
	b.Row.State, b.Row.Updated, b.Row.Turn, b.Row.Attempt = 2, began.Add(time.Second), 4, 2
	b.Row.Active, b.Row.Node, b.Row.Context = false, "", "other"
	b.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
	must(t, st, a, b)

	want := &store.Record{Row: b.Row, Seal: b.Seal}
	want.Last = 5
	for range 2 {
		same(t, "with body", get(t, st, a.Row.Key, true), want)
		brief := get(t, st, a.Row.Key, false)
		same(t, "without body", brief, &store.Record{Row: want.Row, Seal: &store.Seal{Head: []byte("head")}})
		same(t, "log", log(t, st, a.Row.Key, 0, 0), entries(0, 5))
		Check(t, st, a.Row.Key)
		st = restart(t, st, open)
	}
	_, err := st.Get(t.Context(), name("unknown"), true)
	wantError(t, "get an unknown task", err, store.ErrNotFound)
}

func testAppendRefused(t *testing.T, open Opener) {
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
		refuse(t, st, wrong, store.ErrLeaseLost) // both are wrong: the owner must stop
	}
	same(t, "after refusals", get(t, st, a.Row.Key, true), before)
	same(t, "log", log(t, st, a.Row.Key, 0, 0), entries(0, 2))

	// The epoch is what the row says from then on.
	b := then(a, 1)
	b.Row.Epoch = 7
	must(t, st, b)
	refuse(t, st, then(a, 1), store.ErrLeaseLost)
	must(t, st, then(b, 1))
	Check(t, st, a.Row.Key)
}

func testAppendMalformed(t *testing.T, open Opener) {
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
	_, err := st.Get(t.Context(), name("a"), false)
	wantError(t, "get", err, store.ErrNotFound)
}

func testSeal(t *testing.T, open Opener) {
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

func testEntryPages(t *testing.T, open Opener) {
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

// testGroupIsolation queues good and bad appends in one go, so that drivers
// that commit in groups get them in the same group.
func testGroupIsolation(t *testing.T, open Opener) {
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

func testQueueOrder(t *testing.T, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	batch := []*store.Append{a}
	for range 300 {
		a = then(a, 2)
		batch = append(batch, a)
	}
	for i, err := range queue(st, batch) {
		if err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
	}
	same(t, "log", log(t, st, a.Row.Key, 0, 0), entries(0, 601))
	Check(t, st, a.Row.Key)
}

func testConcurrent(t *testing.T, open Opener) {
	st := start(t, open)
	const writers, rounds = 64, 12
	var wg sync.WaitGroup
	keys := make([]store.Key, writers)
	for w := range writers {
		keys[w] = name(fmt.Sprintf("task %02d", w))
		acked := make(chan int64, rounds)
		wg.Go(func() {
			defer close(acked)
			a := create(keys[w], 1)
			for i := range rounds {
				if i > 0 {
					a = then(a, 1+i%3)
				}
				if err := store.Do(t.Context(), st, a); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				acked <- a.After + int64(len(a.Entries))
			}
		})
		wg.Go(func() { // what is acknowledged can be read at once
			var after int64
			for last := range acked {
				es, err := st.Entries(t.Context(), keys[w], after, 0)
				if err != nil || after+int64(len(es)) < last {
					t.Errorf("reader %d: %d entries after %d, %d are acknowledged: %v", w, len(es), after, last, err)
					continue
				}
				r, err := st.Get(t.Context(), keys[w], false)
				if err != nil || r.Last < last {
					t.Errorf("reader %d: record %+v, %d entries are acknowledged: %v", w, r, last, err)
				}
				after += int64(len(es))
			}
		})
	}
	wg.Wait()
	Check(t, st, keys...)
	Check(t, restart(t, st, open), keys...)
}

func testTimes(t *testing.T, open Opener) {
	st := start(t, open)
	zone := time.FixedZone("elsewhere", 5*3600)
	for i, when := range []time.Time{
		began.Add(123456 * time.Nanosecond).In(zone),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		{},
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		a := create(name(fmt.Sprint(i)), 1)
		a.Row.Updated, a.Row.Created, a.Entries[0].Time = when, when, when
		must(t, st, a)
		want := store.Milli(when)
		r := get(t, st, a.Row.Key, false)
		for what, got := range map[string]time.Time{
			"updated": r.Updated, "created": r.Created, "entry": log(t, st, a.Row.Key, 0, 0)[0].Time,
		} {
			if got != want { // bit for bit, so that records can be compared
				t.Errorf("%s of %v: got %v, want %v", what, when, got, want)
			}
		}
	}
}

func testKeys(t *testing.T, open Opener) {
	st := start(t, open)
	odd := []string{
		"", " ", "a", "A", "ä", "a\u0308", "日本語", "🗣", `'; DROP TABLE task; --`, `"quoted"`, "a\x00b", "a\x00", "\x00",
		"\xff\xfe", "%", "_", "line\nbreak", "../../etc", strings.Repeat("long ", 4000), strings.Repeat("long ", 4000) + "er",
	}
	var keys []store.Key
	for _, s := range odd {
		keys = append(keys, store.Key{Tenant: s, Owner: "o", ID: "same"},
			store.Key{Tenant: "t", Owner: s, ID: "same"}, store.Key{Tenant: "t", Owner: "o", ID: s})
	}
	// The parts of a key do not run into each other.
	keys = append(keys, store.Key{Tenant: "ab", Owner: "c", ID: "d"}, store.Key{Tenant: "a", Owner: "bc", ID: "d"},
		store.Key{Tenant: "a", Owner: "b", ID: "cd"})
	batch := make([]*store.Append, len(keys))
	for i, k := range keys {
		batch[i] = create(k, 1+i%3)
		batch[i].Row.Context = odd[i%len(odd)]
		batch[i].Entries[0].Body = fmt.Append(nil, i)
	}
	for i, err := range queue(st, batch) {
		if err != nil {
			t.Fatalf("create %q: %v", keys[i], err)
		}
	}
	st = restart(t, st, open)
	for i, k := range keys {
		if r := get(t, st, k, true); r.Key != k || r.Context != batch[i].Row.Context {
			t.Errorf("get %q: got %q in %q", k, r.Key, r.Context)
		}
		if es := log(t, st, k, 0, 1); string(es[0].Body) != fmt.Sprint(i) {
			t.Errorf("%q has the log of another: %s, want %d", k, es[0].Body, i)
		}
	}
	Check(t, st, keys...)
	_, err := st.Get(t.Context(), store.Key{Tenant: "t", Owner: "stranger", ID: "a"}, true)
	wantError(t, "another's task", err, store.ErrNotFound)
	if p := list(t, st, store.Query{Tenant: "t", Owner: "stranger", Limit: 10}); p.Total != 0 || len(p.Records) != 0 {
		t.Errorf("a stranger sees %d tasks", p.Total)
	}
}

func testLarge(t *testing.T, open Opener) {
	st := start(t, open)
	big := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	a := create(name("a"), 3)
	a.Entries[1].Body = big
	a.Blobs = []store.Blob{{Hash: "big", Data: big}}
	b := then(a, 1)
	b.Row.Active = false
	b.Seal = &store.Seal{Head: []byte("small"), Body: big}
	c := create(name("b"), 1) // in the same group
	for i, err := range queue(st, []*store.Append{a, b, c}) {
		if err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
	}
	st = restart(t, st, open)
	if es := log(t, st, a.Row.Key, 0, 0); len(es) != 4 || !bytes.Equal(es[1].Body, big) {
		t.Errorf("the log lost the large entry")
	}
	if r := get(t, st, a.Row.Key, true); !bytes.Equal(r.Seal.Body, big) {
		t.Errorf("the seal lost its body: %d bytes", len(r.Seal.Body))
	}
	if got, err := st.Blob(t.Context(), "big"); err != nil || !bytes.Equal(got, big) {
		t.Errorf("blob: %d bytes, %v", len(got), err)
	}
	Check(t, st, a.Row.Key, c.Row.Key)
}

func testBytesAreCopies(t *testing.T, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	a.Row.Active = false
	a.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
	a.Blobs = []store.Blob{{Hash: "h", Data: []byte("data")}}
	must(t, st, a)
	spoil := func() (all string) {
		r := get(t, st, a.Row.Key, true)
		data, err := st.Blob(t.Context(), "h")
		if err != nil {
			t.Fatal(err)
		}
		p := list(t, st, store.Query{Tenant: "tenant", Owner: "owner", Limit: 1, Body: true})
		for _, b := range [][]byte{
			r.Seal.Head, r.Seal.Body, data, log(t, st, a.Row.Key, 0, 0)[0].Body,
			p.Records[0].Seal.Head, p.Records[0].Seal.Body,
		} {
			all += string(b) + " "
			clear(b)
		}
		return all
	}
	first := spoil()
	if second := spoil(); second != first {
		t.Errorf("a caller changed what is stored: %q, then %q", first, second)
	}
}

func testBlobs(t *testing.T, open Opener) {
	st := start(t, open)
	a, b := create(name("a"), 1), create(name("b"), 1)
	a.Blobs = []store.Blob{{Hash: "one", Data: []byte("1")}, {Hash: "two", Data: []byte("2")}, {Hash: "none", Data: nil}}
	b.Blobs = []store.Blob{{Hash: "two", Data: []byte("ignored: the hash is known")}, {Hash: "one", Data: []byte("1")}, {Hash: "one", Data: []byte("1")}}
	must(t, st, a, b)
	refused := create(name("a"), 1)
	refused.Blobs = []store.Blob{{Hash: "three", Data: []byte("3")}}
	refuse(t, st, refused, store.ErrConflict)
	st = restart(t, st, open)
	for hash, want := range map[string]string{"one": "1", "two": "2", "none": ""} {
		got, err := st.Blob(t.Context(), hash)
		if err != nil || string(got) != want {
			t.Errorf("blob %s: %q, %v, want %q", hash, got, err, want)
		}
	}
	_, err := st.Blob(t.Context(), "three")
	wantError(t, "the blob of a refused append", err, store.ErrNotFound)
}

func testEndedContext(t *testing.T, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	must(t, st, a)
	ctx := ended(t)
	for what, err := range calls(ctx, st, a.Row.Key) {
		wantError(t, what, err, context.Canceled)
	}
	if r := get(t, st, a.Row.Key, false); r.Node != "node" || r.Epoch != 1 {
		t.Errorf("a claim with an ended context took the task: %+v", r.Row)
	}
	for what, err := range calls(t.Context(), st, a.Row.Key) { // nothing is stuck
		if err != nil {
			t.Errorf("%s afterwards: %v", what, err)
		}
	}
}

// calls calls every method that takes a context. A blob "h" is not there.
func calls(ctx context.Context, st store.Store, k store.Key) map[string]error {
	errs := map[string]error{}
	_, errs["get"] = st.Get(ctx, k, true)
	_, errs["entries"] = st.Entries(ctx, k, 0, 0)
	_, errs["list"] = st.List(ctx, store.Query{Tenant: k.Tenant, Owner: k.Owner, Limit: 1})
	errs["beat"] = st.Beat(ctx, "node", began)
	_, errs["claim"] = st.Claim(ctx, "other", began, 1)
	_, errs["secret"] = st.Secret(ctx, "name")
	if _, err := st.Blob(ctx, "h"); !errors.Is(err, store.ErrNotFound) {
		errs["blob"] = err
	}
	return errs
}

func testClosed(t *testing.T, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	must(t, st, a)
	for range 2 {
		if err := st.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	refuse(t, st, then(a, 1), store.ErrClosed)
	for what, err := range calls(t.Context(), st, a.Row.Key) {
		wantError(t, what, err, store.ErrClosed)
	}
	same(t, "log", log(t, start(t, open), a.Row.Key, 0, 0), entries(0, 1))
}

func testCloseWaits(t *testing.T, open Opener) {
	st := start(t, open)
	const n = 200
	done := make(chan error, n)
	var keys []store.Key
	for i := range n {
		a := create(name(fmt.Sprint(i)), 1)
		keys = append(keys, a.Row.Key)
		st.Append(a, func(err error) { done <- err })
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if len(done) != n {
		t.Fatalf("close returned after %d of %d outcomes", len(done), n)
	}
	for range n {
		if err := <-done; err != nil {
			t.Errorf("a queued append was lost: %v", err)
		}
	}
	st = start(t, open)
	for _, k := range keys {
		get(t, st, k, false)
	}
	Check(t, st, keys...)
}
