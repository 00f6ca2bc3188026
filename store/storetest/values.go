package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var valueBehaviours = []behaviour{
	{"times have milliseconds and are UTC", testTimes},
	{"keys are any text and belong to their owner", testKeys},
	{"large bodies", testLarge},
	{"returned bytes belong to the caller", testBytesAreCopies},
	{"blobs are stored once", testBlobs},
}

func testTimes(t testing.TB, open Opener) {
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
			if got != want { // exactly equal, so that records can be compared
				t.Errorf("%s of %v: got %v, want %v", what, when, got, want)
			}
		}
	}
}

// oddNames are names as they may come from outside. Only the first cannot name a receipt or a
// push config.
var oddNames = []string{
	"", " ", "a", "A", "ä", "a\u0308", "日本語", "🗣", `'; DROP TABLE task; --`, `"quoted"`, "a\x00b", "a\x00", "\x00",
	"\xff\xfe", "%", "_", "line\nbreak", "../../etc", strings.Repeat("long ", 4000), strings.Repeat("long ", 4000) + "er",
}

func testKeys(t testing.TB, open Opener) {
	st, odd := start(t, open), oddNames
	var keys []store.Key
	for _, s := range odd {
		keys = append(keys, store.Key{Tenant: s, Owner: "o", ID: "same"},
			store.Key{Tenant: "t", Owner: s, ID: "same"}, store.Key{Tenant: "t", Owner: "o", ID: s})
	}
	// The parts of a key are kept apart.
	keys = append(keys, store.Key{Tenant: "ab", Owner: "c", ID: "d"}, store.Key{Tenant: "a", Owner: "bc", ID: "d"},
		store.Key{Tenant: "a", Owner: "b", ID: "cd"})
	batch := make([]*store.Append, len(keys))
	for i, k := range keys {
		batch[i] = create(k, 1+i%3)
		batch[i].Row.Context = odd[i%len(odd)]
		batch[i].Entries[0].Body = fmt.Append(nil, i)
	}
	mustAll(t, st, batch)
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
	_, err := st.Get(t.Context(), store.Key{Tenant: "t", Owner: "stranger", ID: "a"}, store.Whole)
	wantError(t, "another's task", err, store.ErrNotFound)
	if p := list(t, st, store.Query{Tenant: "t", Owner: "stranger", Limit: 10}); p.Total != 0 || len(p.Records) != 0 {
		t.Errorf("a stranger sees %d tasks", p.Total)
	}
}

func testLarge(t testing.TB, open Opener) {
	st := start(t, open)
	big := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	a := create(name("a"), 3)
	a.Entries[1].Body = big
	a.Blobs = []store.Blob{{Hash: "big", Data: big}}
	b := then(a, 1)
	b.Row.Active = false
	b.Seal = &store.Seal{Head: []byte("small"), Body: big}
	c := create(name("b"), 1) // in the same group
	mustAll(t, st, []*store.Append{a, b, c})
	st = restart(t, st, open)
	if es := wholeLog(t, st, a.Row.Key); len(es) != 4 || !bytes.Equal(es[1].Body, big) {
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

func testBytesAreCopies(t testing.TB, open Opener) {
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

func testBlobs(t testing.TB, open Opener) {
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
