package sqlite

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// atWork returns an append whose task the writer keeps in working.
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

// The writer compares its memory of active tasks with the rows, so it notices changes by
// other code and rolled back transactions.
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
		if task, refused, err := st.place(form{Append: next}); task == 0 || refused != nil || err != nil {
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

// The seal and the end of the log form a piece in the row. If they do not fit in one, the
// body is in the row or in the table seal, never in both. This holds for each change from one
// form to another.
func TestSealsByTheirSize(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	noise := make([]byte, 2*maxClear)
	rand.NewChaCha8([32]byte{}).Read(noise)
	small, large, words := noise[:smallBody], noise[:smallBody+1], bytes.Repeat([]byte("words "), 2000)
	type end struct {
		body  []byte // of the seal; nil: there is none
		entry []byte
		where string
	}
	piece, row, table := "1 0 0", "0 1 0", "0 0 1" // pieces, bodies in rows, bodies in the table
	ends := []end{
		{small, nil, piece}, {words, nil, piece}, {nil, nil, "0 0 0"}, {[]byte{}, nil, piece}, {large, noise, table},
		{small, noise, row}, {large, words, piece}, {small, noise, row}, {small, nil, piece}, {noise, nil, table},
		{small, nil, piece}, {large, noise, table}, {nil, nil, "0 0 0"}, {small, noise, row}, {nil, noise, "0 0 0"},
	}
	log := []store.Entry{}
	a := task("a", 10)
	for i, e := range ends {
		if i > 0 {
			a = goOn(a)
		}
		a.Entries[0].Body = e.entry
		if a.Seal = nil; e.body != nil {
			a.Seal = &store.Seal{Head: []byte("head"), Body: e.body}
		}
		log = append(log, a.Entries...)
		mustAppend(t, st, a)
		r, err := st.Get(t.Context(), a.Row.Key, store.Whole)
		if err != nil || (r.Seal != nil) != (e.body != nil) || r.Seal != nil && (string(r.Seal.Head) != "head" || !bytes.Equal(r.Seal.Body, e.body) || r.Size != int64(4+len(e.body))) {
			t.Fatalf("%d: %+v, %v", i, r, err)
		}
		for after := range log {
			got, err := st.Entries(t.Context(), a.Row.Key, int64(after), 0)
			same := func(a, b store.Entry) bool {
				return a.Seq == b.Seq && a.Kind == b.Kind && a.Time.UnixMilli() == b.Time.UnixMilli() && bytes.Equal(a.Body, b.Body)
			}
			if err != nil || len(got) == 0 || !slices.EqualFunc(log[after:][:len(got)], got, same) {
				t.Fatalf("%d: the log after %d is another: %v", i, after, err)
			}
		}
		var where string
		err = st.writer.stmt("SELECT count(head_size) || ' ' || count(body) || ' ' || (SELECT count(*) FROM seal) FROM task").
			each(func(r *sqlite3.Stmt) error { where = r.ColumnText(0); return nil })
		if err != nil || where != e.where {
			t.Errorf("%d: %q, want %q, %v", i, where, e.where, err)
		}
	}
	storetest.Check(t, st, a.Row.Key)
}

// A damaged piece is an error. Any prefix of an undamaged one reads as package s2 decodes it.
func FuzzPiece(f *testing.F) {
	st, c := &Store{}, &conn{}
	a := task("a", 10)
	for _, body := range []string{"body", strings.Repeat("a", 1500), strings.Repeat("abc", 4000), words[200:600] + words[50:850]} {
		a.Seal = &store.Seal{Head: []byte("head"), Body: []byte(body)}
		f.Add(bytes.Clone(st.piece(a)), 4, len(body))
	}
	noise := make([]byte, 1800)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for _, n := range []int{1, 59, 60, 61, 255, 256, 257, len(noise)} {
		a.Seal = &store.Seal{Head: []byte(words[:300]), Body: noise[:n]}
		f.Add(bytes.Clone(st.piece(a)), 300, n)
	}
	quick := quickTask(1, true)
	f.Add(bytes.Clone(st.piece(quick)), len(quick.Seal.Head), len(quick.Seal.Body))
	f.Fuzz(func(t *testing.T, piece []byte, head, body int) {
		if s, err := sealOf(piece, head, body); err == nil && s.Size() != head+max(body, 0) {
			t.Errorf("%d and %d bytes became %d", head, body, s.Size())
		}
		if packed, first, err := c.logOf(piece, head+body); err == nil {
			_, _ = store.Unpack(nil, packed, first, first, 0)
		}
		if sizeOf(piece) < 0 {
			return
		}
		want, err := dictionary.Decode(nil, piece[1:])
		got := make([]byte, sizeOf(piece))
		if err != nil {
			_ = expand(got, piece)
			return
		}
		for n := range len(want) + 1 {
			clear(got)
			if err := expand(got[:n], piece); err != nil || !bytes.Equal(got[:n], want[:n]) || n < len(got) && got[n] != 0 {
				t.Fatalf("the first %d of %d bytes: %v", n, len(want), err)
			}
		}
	})
}
