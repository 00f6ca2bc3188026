package storetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// testArchiveReceipts imports into a store that has receipts: others of the same name, and
// fewer or more of the same task.
func testArchiveReceipts(t testing.TB, open Opener) {
	st := start(t, open)
	m := store.NewMemory()
	defer m.Close()
	a, b := signed(finished("a", 3, began), "taken", "free", "old"), signed(create(name("b"), 1), "only b")
	as := []*store.Append{a, b}
	for range 3 { // long enough for more than one append
		as = append(as, then(as[len(as)-1], 600))
	}
	must(t, m, as...)
	text := export(t, m)
	imports := func(what string, tasks, there int64) {
		t.Helper()
		got, err := importInto(t, st, text)
		if err != nil || got.New.Tasks != tasks || got.There.Tasks != there {
			t.Fatalf("%s: %+v, %v", what, got, err)
		}
	}

	other := signed(create(name("other"), 1), "taken", "only b")
	old := alone("old")
	old.Receipts[0].Until = began
	must(t, st, other, old)
	imports("beside another task's receipts", 2, 0)
	for range 2 {
		same(t, "of a", receipts(t, st, a.Row.Key), []store.Receipt{issued(a)[1], issued(a)[2]})
		same(t, "of b", receipts(t, st, b.Row.Key), []store.Receipt(nil))
		same(t, "of the other", receipts(t, st, other.Row.Key), []store.Receipt{issued(other)[1], issued(other)[0]})
		for _, k := range []store.Key{a.Row.Key, b.Row.Key} {
			same(t, "the log of "+k.ID, log(t, st, k, 0, 0), log(t, m, k, 0, 0))
			same(t, "the record of "+k.ID, get(t, st, k, true), get(t, m, k, true))
		}
		Check(t, st, a.Row.Key, b.Row.Key, other.Row.Key)
		imports("again", 0, 2)
	}
	forget(t, st, store.ForgetQuery{Before: began.Add(2 * time.Hour), Limit: 99})
	imports("where all were forgotten", 0, 2)

	// With other content it is not the same task.
	remove(t, st, row(t, st, a.Row.Key))
	c := signed(finished("a", 3, began), "free")
	c.Receipts[0].Digest = []byte("another")
	must(t, st, c)
	if _, err := importInto(t, st, text); err == nil {
		t.Error("a task with another receipt of the name passes for the same")
	}

	// A receipt expired and was replaced during the export, which therefore has both, the
	// newer one first. The older one is left out.
	newer, older := signed(finished("a", 3, began), "n"), signed(finished("b", 3, began), "q")
	newer.Receipts[0].Time, newer.Receipts[0].Until = began.Add(time.Hour), began.Add(2*time.Hour)
	both := store.NewMemory()
	defer both.Close()
	must(t, both, newer, older)
	twice := resealed(bytes.Replace(export(t, both), []byte(`"name":"q"`), []byte(`"name":"n"`), 1))
	st = start(t, func(t testing.TB) store.Store { return store.NewMemory() })
	for range 2 {
		if _, err := importInto(t, st, twice); err != nil {
			t.Fatalf("an export with a receipt and its successor: %v", err)
		}
		same(t, "the newer one", lookUp(t, st, name(""), "n"), &issued(newer)[0])
		Check(t, st, name("a"), name("b"))
	}
}

// resealed returns an export with a new checksum for its changed content.
func resealed(text []byte) []byte {
	body := text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1]
	end, _, _ := bytes.Cut(text[len(body):], []byte(`"sha256":"`))
	return fmt.Appendf(bytes.Clone(body), `%s"sha256":"%x"}}`+"\n", end, sha256.Sum256(body))
}

// Everything in an export must fit, before anything is written. A line of an unknown kind
// refuses the whole export too, so that nothing of a newer version is lost silently.
func testArchiveMisfits(t testing.TB, open Opener) {
	st := start(t, open)
	m := store.NewMemory()
	defer m.Close()
	a := with(signed(finished("a", 3, began), "taken", "free"), "node", "p", "q")
	a.Letters = []store.DeadLetter{letter(a.Pushes[0], 2)}
	must(t, m, finished("0", 3, began), a)
	keep(t, m, store.WebhookKeys, nil, []byte("1"))
	text := export(t, m)
	for _, change := range [][2]string{
		{`"name":"free","`, `"name":"","`},
		{`"name":"free"`, `"name":"taken"`},
		{`"seq":1,"digest`, `"seq":4,"digest`},
		{`"seq":1,"digest`, `"seq":0,"digest`},
		{`{"receipt":`, `{"something new":`},
		{`{"push":{"id":"p"`, `{"push":{"id":""`},
		{`{"push":{"id":"p"`, `{"push":{"id":"q"`},
		{`"cursor":1`, `"cursor":4`},
		{`"cursor":1`, `"cursor":-1`},
		{`{"letter":{"push":"p"`, `{"letter":{"push":"x"`},
		{`"seq":2,"time"`, `"seq":4,"time"`},
		{`"kept":{"name":"webhook-keys"`, `"kept":{"name":"other"`},
		{`{"kept":{"name":"webhook-keys","value":1}}`, `{"kept":{"name":"webhook-keys","value":1}}` + "\n" + `{"kept":{"name":"webhook-keys","value":1}}`},
	} {
		changed := resealed(bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1))
		if bytes.Equal(changed, text) {
			t.Fatalf("the export has no %s", change[0])
		}
		if _, err := importInto(t, st, changed); err == nil {
			t.Errorf("an export with %s was imported", change[1])
		}
		if rows, _ := st.Tasks(t.Context(), nil, 9); len(rows) > 0 {
			t.Fatalf("%d tasks of an export with %s were imported", len(rows), change[1])
		}
		same(t, "what is kept", kept(t, st), map[string]string{})
	}
	if _, err := importInto(t, st, resealed(text)); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}
