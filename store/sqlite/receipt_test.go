package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// A long task disappears in the first step of its deletion, and so do its receipts: if the
// process dies before the other steps, no names may stay that belong to no task and cannot be
// used again.
func TestReceiptsOfDoomedTasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	a := task("long", 1)
	a.Receipts = []store.Receipt{{Name: "n", Time: began, Until: began.Add(1e9), Seq: 1}}
	last := a
	mustAppend(t, st, a)
	for range 2 * deleteRows {
		last = goOn(last)
		mustAppend(t, st, last)
	}
	r, err := st.Get(t.Context(), a.Row.Key, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := st.doom(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
		t.Fatalf("the first step: %d, %v", n, err)
	}
	st = mustOpen(t, crashed(t, st), nil)
	if count(t, st, "SELECT count(*) FROM doomed") != 1 {
		t.Fatal("there is no rest to be deleted")
	}
	if r, err := st.Receipt(t.Context(), a.Row.Key, "n"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the receipt: %+v, %v", r, err)
	}
	mustAppend(t, st, a)
	if _, err := st.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r, err := st.Receipt(t.Context(), a.Row.Key, "n"); err != nil || r.TaskID != "long" {
		t.Errorf("the new task's receipt went with the rest of the old one: %+v, %v", r, err)
	}
	storetest.Check(t, st, a.Row.Key)
}

// A command that reads beside a server sees the receipts, as of each call.
func TestReceiptsBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := task("a", 1)
	if _, err := r.Receipt(t.Context(), a.Row.Key, "n"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before it came: %v", err)
	}
	a.Receipts = []store.Receipt{{Name: "n", Time: began, Until: began.Add(1e9), Seq: 1}}
	mustAppend(t, st, a)
	if got, err := r.Receipt(t.Context(), a.Row.Key, "n"); err != nil || got.TaskID != "a" {
		t.Errorf("by name: %+v, %v", got, err)
	}
	if got, err := r.Receipts(t.Context(), a.Row.Key); err != nil || len(got) != 1 {
		t.Errorf("of the task: %+v, %v", got, err)
	}
	if n, err := st.Forget(t.Context(), store.ForgetQuery{Before: began.Add(1e9), Limit: 1}); n != 1 || err != nil {
		t.Errorf("forget: %d, %v", n, err)
	}
	if got, err := r.Receipts(t.Context(), a.Row.Key); err != nil || len(got) != 0 {
		t.Errorf("forgotten: %+v, %v", got, err)
	}
}
