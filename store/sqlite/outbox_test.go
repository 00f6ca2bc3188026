package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// A task with many push configs or dead letters disappears in the first, small step of its
// deletion. Until the rest is removed, no caller can see, claim or inherit it, whatever
// happens in between.
func TestPushesOfDoomedTasks(t *testing.T) {
	for what, size := range map[string]struct{ configs, letters int64 }{
		"many configs": {5 * deleteRows, 0},
		"many letters": {2, 5 * deleteRows},
		"both":         {2 * deleteRows, 2 * deleteRows},
	} {
		t.Run(what, func(t *testing.T) {
			st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
			a := task("a", 1)
			for i := range size.configs {
				p := store.PushConfig{ID: fmt.Sprint(i), Created: began, Node: "dead", Live: true}
				a.Pushes = append(a.Pushes, p)
			}
			for i := range size.letters {
				a.Letters = append(a.Letters, store.DeadLetter{PushID: store.PushID{ID: "1"}, Seq: i + 1, Time: began, Again: true})
			}
			mustAppend(t, st, a)
			r, err := st.Get(t.Context(), a.Row.Key, store.RowOnly)
			if err != nil {
				t.Fatal(err)
			}
			left := func(st *Store) int {
				return count(t, st, "SELECT (SELECT count(*) FROM push) + (SELECT count(*) FROM letter)")
			}
			unseen := func(st *Store) {
				t.Helper()
				storetest.Check(t, st, a.Row.Key)
				live, err := st.LivePushes(t.Context(), "dead", 0, 9)
				if len(live) != 0 || err != nil {
					t.Errorf("live: %+v, %v", live, err)
				}
				for _, again := range []bool{false, true} {
					dead, err := st.DeadLetters(t.Context(), store.LetterQuery{Again: again, Limit: 9})
					if len(dead) != 0 || err != nil {
						t.Errorf("dead letters: %+v, %v", dead, err)
					}
				}
				if n, err := st.ClaimPushes(t.Context(), "next", began, 9); n != 0 || err != nil {
					t.Errorf("claimed: %d, %v", n, err)
				}
			}

			before := left(st)
			if n, err := st.doom(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
				t.Fatalf("the first step: %d, %v", n, err)
			}
			unseen(st)
			for done := false; !done; {
				now := left(st)
				if before-now > 3*deleteRows {
					t.Errorf("a step removed %d", before-now)
				}
				before = now
				st = mustOpen(t, crashed(t, st), nil)
				unseen(st)
				if done, err = st.purge(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if left(st) != 0 || count(t, st, "SELECT count(*) FROM doomed") != 0 {
				t.Errorf("%d rows are left", left(st))
			}
		})
	}
}

// A task that is created before the rest of another is removed inherits none of it.
func TestPushesAreNotInherited(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := task("a", 1)
	a.Pushes = []store.PushConfig{{ID: "p", Created: began, Node: "dead", Live: true}}
	for i := range int64(3 * deleteRows) {
		a.Letters = append(a.Letters, store.DeadLetter{PushID: store.PushID{ID: "p"}, Seq: i + 1, Time: began})
	}
	mustAppend(t, st, a)
	r, err := st.Get(t.Context(), a.Row.Key, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := st.doom(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
		t.Fatalf("the first step: %d, %v", n, err)
	}
	st = mustOpen(t, crashed(t, st), nil)
	fresh := task("a", 1)
	fresh.Pushes = a.Pushes
	mustAppend(t, st, fresh)
	storetest.Check(t, st, a.Row.Key)
	if _, err := st.Delete(t.Context(), nil); err != nil { // the rest
		t.Fatal(err)
	}
	dead, err := st.DeadLetters(t.Context(), store.LetterQuery{Limit: 9})
	if len(dead) != 0 || err != nil {
		t.Errorf("dead letters: %+v, %v", dead, err)
	}
	if n, err := st.ClaimPushes(t.Context(), "next", began, 9); n != 1 || err != nil {
		t.Errorf("claimed: %d, %v", n, err)
	}
	storetest.Check(t, st, a.Row.Key)
}
