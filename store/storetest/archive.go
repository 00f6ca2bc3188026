package storetest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

var archiveBehaviours = []behaviour{
	{"all tasks in the order of their keys", testTasks},
	{"an export imports as the same, and only where nothing else is", testArchive},
	{"an import that fails is completed by another", testArchiveFaults},
	{"an import that is not finished is known by its mark", testArchiveMark},
	{"exports beside writers are whole", testExportBeside},
	{"receipts are imported beside others", testArchiveReceipts},
	{"push configs are imported where others have gone on", testArchivePushes},
	{"an export that does not fit changes nothing", testArchiveMisfits},
}

func testTasks(t testing.TB, open Opener) {
	st := start(t, open)
	if _, err := st.Tasks(t.Context(), nil, 0); err == nil {
		t.Error("a limit of 0 was answered")
	}
	var want []store.Key
	for _, tenant := range []string{"", "a", "b"} {
		for _, owner := range []string{"", "\x00", "z", "\xff"} {
			for _, id := range []string{"", "1", "10", "2", "ä", "Z"} {
				k := store.Key{Tenant: tenant, Owner: owner, ID: id}
				must(t, st, create(k, 1+len(id)))
				want = append(want, k)
			}
		}
	}
	slices.SortFunc(want, store.Key.Compare)
	for _, limit := range []int{1, 7, 1000} {
		var got []store.Key
		var after *store.Key
		for {
			rows, err := st.Tasks(t.Context(), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				same(t, "the row", r, get(t, st, r.Key, false).Row)
				got = append(got, r.Key)
			}
			if len(rows) < limit {
				break
			}
			after = &got[len(got)-1]
		}
		same(t, "all tasks", got, want)
	}
}

// odd fills a store with everything that an export contains. One task grows by n entries five
// times.
func odd(t testing.TB, st store.Store, n int) (keys []store.Key) {
	shared := store.Blob{Hash: "shared", Data: bytes.Repeat([]byte{0, 255}, 100)}
	add := func(as ...*store.Append) {
		must(t, st, as...)
		keys = append(keys, as[0].Row.Key)
	}
	a := finished("a", 3, began)
	a.Blobs = []store.Blob{shared, {Hash: "empty"}, {Hash: "own \xff", Data: []byte("x")}}
	with(a, "node", " ", "\xff\x00", "z")
	a.Pushes[0].Body, a.Pushes[0].Host, a.Pushes[0].Reason = nil, "", "\n\xff"
	a.Pushes[1].Body, a.Pushes[1].Live = []byte(`{"credentials":"secret"}`), false
	a.Pushes[2].Created = time.Time{}
	a.Pushes[2].Progress = store.Progress{Cursor: 3, Tries: 4, Since: began, Due: began.Add(time.Hour)}
	again := letter(a.Pushes[2], 3)
	again.Again, again.Reason = true, "\u2028\xff"
	a.Letters = []store.DeadLetter{letter(a.Pushes[2], 1), again, letter(a.Pushes[0], 2)}
	add(signed(a, "z", "\xff\x00", " "))
	b := create(store.Key{Tenant: "\xff\x00", Owner: "ä\n\"", ID: " "}, 6)
	b.Row.Context, b.Row.Lost, b.Row.Attempt = "\u2028", 2, 3
	for i, body := range []string{"", "{}", " {}", "{}\n", "{\"a\": \n1}", `{"a" :  1.0e3,"<":"\u003c&"}`} {
		b.Entries[i].Body = []byte(body)
	}
	b.Entries[0].Time = time.Time{}
	add(signed(b, "z")) // belongs to another owner
	c := create(name("c"), 1)
	c.Blobs = []store.Blob{shared}
	as := []*store.Append{signed(c, "first of c")}
	for i := range 5 {
		next := signed(then(as[len(as)-1], n), fmt.Sprint("of c ", i))
		next.Receipts[0].Answer = []byte([]string{"", "{}", "{\n}", "\xff", `{"a": 1.0}`}[i])
		as = append(as, next)
	}
	as[5].Row.Active = false
	as[5].Seal = &store.Seal{Head: []byte("null"), Body: nil}
	with(as[2], "node", "hook") // in the middle of the task, as clients add them
	add(as...)
	bury(t, st, as[2].Pushes[0], letter(as[2].Pushes[0], 700), letter(as[2].Pushes[0], int64(5*n)))
	d := finished("d", 4, began)
	d.Entries[0].Body, d.Entries[1].Body = []byte("null"), []byte("\xff")
	d.Seal.Head, d.Seal.Body = nil, []byte("{\"a\":\r1}")
	add(d)
	must(t, st, alone("not of a task")) // not exported
	keep(t, st, store.WebhookKeys, nil, []byte(`{"keys": []}`))
	keep(t, st, "not for others", nil, []byte("x")) // not exported either
	return keys
}

func export(t testing.TB, st archive.Source) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, _, err := archive.Export(t.Context(), st, &out); err != nil {
		t.Fatalf("export: %v", err)
	}
	return out.Bytes()
}

func importInto(t testing.TB, st store.Store, text []byte) (archive.Imported, error) {
	return archive.Import(t.Context(), st, bytes.NewReader(text), false)
}

// testArchive moves everything to the memory store and back, and compares everything that can
// be read.
func testArchive(t testing.TB, open Opener) {
	st := start(t, open)
	m := store.NewMemory()
	defer m.Close()
	keys := odd(t, m, 500)
	text := export(t, m)
	for _, b := range [][]byte{{'\r'}, {0}, []byte("\n\n")} {
		if bytes.Contains(text, b) {
			t.Errorf("the export has %q in it", b)
		}
	}
	got, err := importInto(t, st, text)
	if want := (archive.Count{Tasks: 4, Entries: 3 + 6 + 2501 + 3, Kept: 1}); err != nil || got.New != want || got.There != (archive.Count{}) {
		t.Fatalf("import: %+v, %v", got, err)
	}
	again := start(t, func(t testing.TB) store.Store { return store.NewMemory() })
	for _, st := range []store.Store{st, again} {
		if st == again {
			if _, err := importInto(t, again, text); err != nil {
				t.Fatal(err)
			}
		}
		Check(t, st, keys...)
		for _, k := range keys {
			same(t, "the record of "+k.ID, get(t, st, k, true), get(t, m, k, true))
			same(t, "the log of "+k.ID, log(t, st, k, 0, 0), log(t, m, k, 0, 0))
			same(t, "the receipts of "+k.ID, receipts(t, st, k), receipts(t, m, k))
			want := pushes(t, m, k, 9)
			for i := range want {
				want[i].Node = "" // the next server delivers
			}
			same(t, "the push configs of "+k.ID, pushes(t, st, k, 9), want)
			for _, p := range want {
				q := store.LetterQuery{Of: new(p.PushID())}
				same(t, "the dead letters of "+k.ID, withoutPlace(letters(t, st, q, 9)), withoutPlace(letters(t, m, q, 9)))
			}
			blobs, _ := m.Blobs(t.Context(), k)
			gotBlobs, err := st.Blobs(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "the blobs of "+k.ID, gotBlobs, blobs)
			for _, h := range blobs {
				want, _ := m.Blob(t.Context(), h)
				data, err := st.Blob(t.Context(), h)
				if err != nil || !bytes.Equal(data, want) {
					t.Errorf("blob %q: %q, %v", h, data, err)
				}
			}
		}
		if !bytes.Equal(export(t, st), text) {
			t.Error("the export of the import differs")
		}
		same(t, "what is kept", kept(t, st), map[string]string{store.WebhookKeys: shown([]byte(`{"keys": []}`))})
		if r := lookUp(t, st, keys[0], "not of a task"); r != nil {
			t.Errorf("a receipt without a task was exported: %+v", r)
		}
	}
	// Import again: everything is there already.
	got, err = importInto(t, st, text)
	if err != nil || got.New != (archive.Count{}) || got.There.Tasks != 4 || got.There.Kept != 1 || got.There.Other != 0 {
		t.Errorf("import again: %+v, %v", got, err)
	}
	// A task that has continued is not overwritten, and nothing else is written either.
	r := get(t, st, keys[3], false)
	remove(t, st, row(t, st, keys[0]))
	must(t, st, &store.Append{Row: r.Row, After: r.Last, Epoch: r.Epoch, Entries: entries(r.Last, 1)})
	if _, err := importInto(t, st, text); err == nil {
		t.Error("a task that went on was imported")
	}
	checkAbsent(t, st, keys[0])
}

// testArchiveMark: until an import is finished the store says so, no other export can be
// imported, and a caller that requires a fresh store may continue the same import.
func testArchiveMark(t testing.TB, open Opener) {
	st := start(t, open)
	m, n := store.NewMemory(), store.NewMemory()
	defer m.Close()
	defer n.Close()
	keys := odd(t, m, 500)
	text := export(t, m)
	must(t, n, finished("elsewhere", 3, began))
	other := export(t, n)
	into := func(st store.Store, text []byte, fresh bool) (archive.Imported, error) {
		return archive.Import(t.Context(), st, bytes.NewReader(text), fresh)
	}
	first, err := into(Faulty(st, 2, FailBefore), text, true) // the mark and some of the tasks are there
	wantError(t, "an import with a fault", err, ErrFault)
	st = restart(t, st, open)
	sum := allKept(t, st)[archive.Mark]
	if len(sum) == 0 || string(sum) != first.Sum {
		t.Errorf("the mark is %q, the checksum %q", sum, first.Sum)
	}
	for _, fresh := range []bool{false, true} {
		_, err = into(st, other, fresh)
		wantError(t, "another import meanwhile", err, archive.ErrImporting)
	}
	got, err := into(st, text, true)
	if err != nil || got.New.Tasks+got.There.Tasks != int64(len(keys)) {
		t.Fatalf("the same again: %+v, %v", got, err)
	}
	if mark := allKept(t, st)[archive.Mark]; mark != nil {
		t.Errorf("the mark stays: %q", mark)
	}
	if _, sum, err := archive.Export(t.Context(), st, io.Discard); err != nil || sum != got.Sum {
		t.Errorf("the store holds %s, %v; the export %s", sum, err, got.Sum)
	}
	_, err = into(st, text, true)
	wantError(t, "into a store that has tasks", err, archive.ErrNotEmpty)
	if got, err = into(st, other, false); err != nil || got.New.Tasks != 1 {
		t.Errorf("beside others: %+v, %v", got, err)
	}
	for _, text := range [][]byte{text, other} {
		if err := archive.Compare(t.Context(), st, bytes.NewReader(text)); err != nil {
			t.Errorf("compared: %v", err)
		}
	}
	remove(t, st, row(t, st, name("d")))
	if err := archive.Compare(t.Context(), st, bytes.NewReader(text)); err == nil {
		t.Error("a task that is gone was not missed")
	}
}

// testArchiveFaults fails each write of an import, and imports again.
func testArchiveFaults(t testing.TB, open Opener) {
	m := store.NewMemory()
	defer m.Close()
	odd(t, m, 250) // an import writes these in two appends
	text := export(t, m)
	st := start(t, open)
	clean := func() {
		rows, err := st.Tasks(t.Context(), nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		remove(t, st, rows...)
		for name, b := range allKept(t, st) {
			keep(t, st, name, b, nil)
		}
	}
	steps := Steps(func(st store.Store) { _, _ = importInto(t, st, text) })
	if steps < 6 {
		t.Fatalf("%d steps", steps)
	}
	for _, f := range []Fault{FailBefore, FailAfter} {
		for step := range steps {
			_, err := importInto(t, Faulty(st, step, f), text)
			wantError(t, "an import with a fault", err, ErrFault)
			if _, err := importInto(t, st, text); err != nil {
				t.Fatalf("%v step %d: import again: %v", f, step, err)
			}
			if !bytes.Equal(export(t, st), text) {
				t.Errorf("%v step %d: the export of the import differs", f, step)
			}
			clean()
		}
	}
}

// testExportBeside exports while tasks grow, end and are deleted. The result can always be
// imported.
func testExportBeside(t testing.TB, open Opener) {
	st := start(t, open)
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				a := create(name(fmt.Sprint(w, "-", i%5)), 2)
				a.Blobs = []store.Blob{{Hash: fmt.Sprint("blob ", i%3), Data: fmt.Append(nil, "data ", i%3)}}
				signed(a, fmt.Sprint(w, " began ", i))
				with(a, "node", "p", "q")
				b := signed(then(a, 3), fmt.Sprint(w, " ended ", i))
				b.Row.Active, b.Seal = false, &store.Seal{Head: []byte("{}"), Body: []byte("{}")}
				err := store.Do(t.Context(), st, a)
				if err == nil {
					err = store.Do(t.Context(), st, b)
				}
				if err == nil {
					ahead := advanced(a.Pushes[0], 5)
					ahead.Dead = []store.DeadLetter{letter(a.Pushes[0], 4)}
					err = st.Advance(t.Context(), []store.Advance{ahead})
				}
				if err == nil && i >= 2 {
					old := name(fmt.Sprint(w, "-", (i-2)%5))
					var r *store.Record
					if r, err = st.Get(t.Context(), old, store.RowOnly); err == nil {
						_, err = st.Delete(t.Context(), []store.Row{r.Row})
					}
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	for range 20 {
		text := export(t, st)
		m := store.NewMemory()
		if _, err := importInto(t, m, text); err != nil {
			t.Errorf("import: %v\n%s", err, text)
		}
		m.Close()
	}
	stop.Store(true)
	writers.Wait()
}
