package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// Concurrent changes of many callers share one commit, and one that fails does not affect the
// others.
func TestJoinsShareACommit(t *testing.T) {
	const many = 20
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	failed := errors.New("as this test wants it")
	keep := func(i int) func(*conn) (bool, error) {
		return func(c *conn) (bool, error) {
			err := c.stmt("INSERT INTO kept (name, value) VALUES (?, ?)").text(fmt.Sprint(i)).blob(nil).exec()
			if err == nil && i == 0 {
				err = failed
			}
			return true, err
		}
	}
	before := st.Stats().Commits
	var all []work
	for i := range many {
		all = append(all, work{change: keep(i)})
	}
	fails := 0
	for _, err := range st.commit(all) {
		if errors.Is(err, failed) {
			fails++
		} else if err != nil {
			t.Error(err)
		}
	}
	if fails != 1 {
		t.Errorf("%d failed, want the one that shall", fails)
	}
	if n := st.Stats().Commits - before; n != 1 {
		t.Errorf("%d commits, want one", n)
	}
	err := st.join(t.Context(), "nothing", func(*conn) (bool, error) { return false, nil })
	if n := st.Stats().Commits - before; err != nil || n != 1 {
		t.Errorf("what changes nothing: %v, and %d commits", err, n)
	}
	for _, st := range []*Store{st, mustOpen(t, crashed(t, st), nil)} {
		kept, err := st.Kept(t.Context())
		if _, there := kept["0"]; err != nil || there || len(kept) != many-1 {
			t.Errorf("%d values are there, the one that failed among them: %t, %v", len(kept), there, err)
		}
	}
	st.Close()
	if err := st.join(t.Context(), "keep", keep(many)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A change that ends the transaction does not affect the others either, whether it returns an
// error or not.
func TestJoinThatEndsTheTransaction(t *testing.T) {
	for _, says := range []error{store.ErrFull, nil} {
		st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
		a := task("a", 10)
		errs := st.commit([]work{{append: a}, {change: func(c *conn) (bool, error) {
			_ = c.stmt("ROLLBACK").exec() // as SQLite does by itself when the disk is full
			return true, says
		}}})
		if errs[1] == nil || says != nil && !errors.Is(errs[1], says) {
			t.Errorf("the change: %v", errs[1])
		}
		if errs[0] != nil {
			t.Errorf("the append beside it: %v", errs[0])
		}
		if _, err := st.Get(t.Context(), a.Row.Key, store.RowOnly); err != nil {
			t.Error(err)
		}
	}
}
