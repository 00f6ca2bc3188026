package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// When the disk is full, appends fail with that reason, smaller ones that fit still succeed,
// nothing is half written, and when there is space again everything continues.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, &Options{MaxSize: 1 << 20})
	var keys []store.Key
	written := map[store.Key]bool{}
	var full int
	for round := range 10 {
		var batch []*store.Append
		for i := range 8 {
			size := 40_000
			if i == 3 {
				size = 2 << 20 // never fits
			}
			batch = append(batch, task(fmt.Sprintf("%d-%d", round, i), size))
		}
		for i, err := range queued(st, batch) {
			k := batch[i].Row.Key
			keys = append(keys, k)
			written[k] = err == nil
			if err != nil {
				full++
				if !errors.Is(err, sqlite3.FULL) || !errors.Is(err, store.ErrFull) {
					t.Errorf("append %s: %v, want a full disk", k.ID, err)
				}
			}
			if i == 3 && err == nil {
				t.Errorf("%s does not fit and was written", k.ID)
			}
		}
	}
	if !written[task("0-0", 0).Row.Key] || !written[task("0-7", 0).Row.Key] {
		t.Error("an append that does not fit took others of its group with it")
	}
	if full == 10 || full == 80 {
		t.Fatalf("%d appends failed: the test never reached a full disk", full)
	}
	check := func(st *Store) {
		storetest.Check(t, st, keys...)
		for k, want := range written {
			_, err := st.Get(t.Context(), k, store.Whole)
			if got := err == nil; got != want {
				t.Errorf("%s: written %t, reported %t", k.ID, got, want)
			}
		}
	}
	check(st)
	// Deleting makes space, also while the disk is full.
	first := task("0-0", 0).Row.Key
	r, err := st.Get(t.Context(), first, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := st.Delete(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
		t.Fatalf("a deletion on a full disk: %d, %v", n, err)
	}
	written[first] = false
	mustAppend(t, st, task("in its place", 40_000))
	// The chunks of appends that did not fit used space that small appends could have had.
	for i := 0; err == nil && i < 26; i++ {
		more := task(fmt.Sprint("more ", i), 40_000)
		err = store.Do(t.Context(), st, more)
		keys, written[more.Row.Key] = append(keys, more.Row.Key), err == nil
	}
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("26 more: %v, want a full disk", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = mustOpen(t, path, nil)
	check(st)
	mustAppend(t, st, task("with room again", 3<<20))
}

// queued appends all at once, so that they are few groups, and returns their
// outcomes.
func queued(st store.Store, batch []*store.Append) []error {
	done := make([]chan error, len(batch))
	for i, a := range batch {
		done[i] = make(chan error, 1)
		st.Append(a, func(err error) { done[i] <- err })
	}
	errs := make([]error, len(batch))
	for i := range batch {
		errs[i] = <-done[i]
	}
	return errs
}

// A transaction left open by a bug must not make the store fail for ever.
func TestWriterRecovers(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := task("a", 10)
	mustAppend(t, st, a)
	st.writing.Lock()
	err := st.writer.Exec("BEGIN; DELETE FROM task")
	st.writing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, st, goOn(a))
	storetest.Check(t, st, a.Row.Key)
}

func TestTooLargeAppendIsRefused(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := task("a", 0)
	// The same megabytes many times: large to the store, small to the test.
	part := make([]byte, 16<<20)
	for i := range maxAppend / len(part) {
		a.Blobs = append(a.Blobs, store.Blob{Hash: fmt.Sprint(i), Data: part})
	}
	errs := queued(st, []*store.Append{task("before", 1), a, task("behind", 1)})
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("outcomes: %v", errs)
	}
	storetest.Check(t, st, a.Row.Key, task("before", 1).Row.Key, task("behind", 1).Row.Key)
}
