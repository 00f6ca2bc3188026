package sqlite

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// atWork returns the append of a task that the writer knows.
func atWork(t *testing.T, st *Store, id string) *store.Append {
	t.Helper()
	a := task(id, 10)
	a.Row.Active, a.Row.Node = true, "node"
	mustAppend(t, st, a)
	if st.working[a.Row.Key] == nil {
		t.Fatal("a task at work is not known")
	}
	return a
}

// The writer's memory of tasks at work is compared with the rows: changes by
// others are seen, and so is a transaction that was rolled back.
func TestWorkingTasksAreAsTheyAre(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	ctx := t.Context()

	a := atWork(t, st, "claimed")
	if rows, err := st.Claim(ctx, "other", began, 9); err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if err := store.Do(ctx, st, goOn(a)); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("an append to a task that another has: %v", err)
	}

	b := atWork(t, st, "deleted")
	r, err := st.Get(ctx, b.Row.Key, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := st.Delete(ctx, []store.Row{r.Row}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := store.Do(ctx, st, goOn(b)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an append to a task that is deleted: %v", err)
	}
	mustAppend(t, st, b) // it may come again, with another key
	mustAppend(t, st, goOn(b))

	c := atWork(t, st, "rolled back")
	next := goOn(c)
	next.Row.State = 2
	err = st.writer.transaction(func() error {
		if task, refused, err := st.place(next); task == 0 || refused != nil || err != nil {
			t.Errorf("%d, %v, %v", task, refused, err)
		}
		return errNothing
	})
	if err != errNothing || st.working[c.Row.Key].row.Last != 2 {
		t.Fatalf("the test is wrong about what the writer knows: %v", err)
	}
	st.tally.forget()
	if err := store.Do(ctx, st, goOn(next)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an append to what came to nothing: %v", err)
	}
	mustAppend(t, st, next)
	mustAppend(t, st, goOn(next))
	if err := store.Do(ctx, st, task("rolled back", 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the same task again: %v", err)
	}

	// Each column that an append may change, one at a time, then all, with the
	// sealed end of it.
	d := atWork(t, st, "changing")
	for _, change := range []func(*store.Row){
		func(r *store.Row) {},
		func(r *store.Row) { r.State = 2 },
		func(r *store.Row) { r.Updated = r.Updated.Add(5e6) },
		func(r *store.Row) { r.Context = "context" },
		func(r *store.Row) { r.Node = "another" },
		func(r *store.Row) { r.Epoch, r.Turn, r.Attempt, r.Lost = 4, 5, 6, 7 },
		func(r *store.Row) { r.State, r.Updated, r.Active = 3, r.Updated.Add(7e6), false },
	} {
		d = goOn(d)
		change(&d.Row)
		if !d.Row.Active {
			d.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
		}
		mustAppend(t, st, d)
		got, err := st.Get(ctx, d.Row.Key, store.RowOnly)
		want := d.Row
		if want.Last = d.After + 1; err != nil || got.Row != want {
			t.Errorf("the row: %+v, %v, want %+v", got, err, want)
		}
	}
	if st.working[d.Row.Key] != nil {
		t.Error("a task that ended is still known")
	}
	for i := range maxWorking + 5 {
		st.working.note(int64(i), &store.Append{Row: store.Row{Key: store.Key{ID: string(rune(i))}, Active: true}})
	}
	if n := len(st.working); n > maxWorking {
		t.Errorf("%d tasks are known", n)
	}
	storetest.Check(t, st, a.Row.Key, b.Row.Key, c.Row.Key, d.Row.Key)
}

// A body is in the row or in the table of seals, never in both, from whichever
// it goes to whichever.
func TestBodiesByTheirSize(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	small, large := bytes.Repeat([]byte("s"), smallBody), bytes.Repeat([]byte("l"), smallBody+1)
	bodies := [][]byte{small, large, nil, large, small, {}, large, large, small, small, nil, small, nil}
	a := task("a", 10)
	for i, body := range bodies {
		if i > 0 {
			a = goOn(a)
		}
		if a.Seal = nil; body != nil {
			a.Seal = &store.Seal{Head: []byte("head"), Body: body}
		}
		mustAppend(t, st, a)
		r, err := st.Get(t.Context(), a.Row.Key, store.Whole)
		if err != nil || (r.Seal != nil) != (body != nil) || r.Seal != nil && !bytes.Equal(r.Seal.Body, body) {
			t.Fatalf("%d: %+v, %v", i, r, err)
		}
		inRow, inSeal := 0, 0
		err = st.writer.stmt("SELECT count(body), (SELECT count(*) FROM seal) FROM task").
			each(func(r *sqlite3.Stmt) error { inRow, inSeal = r.ColumnInt(0), r.ColumnInt(1); return nil })
		if err != nil || inRow+inSeal > 1 || (inSeal == 1) != (len(body) > smallBody) || (inRow == 1) != (body != nil && len(body) <= smallBody) {
			t.Errorf("%d: %d bytes: %d in the row, %d in the table, %v", i, len(body), inRow, inSeal, err)
		}
	}
	storetest.Check(t, st, a.Row.Key)
}
