package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Exports hold little at a time, however large tasks are. Ahead leaves large ones out, to be
// read page by page.
func TestAheadIsBounded(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, copied(t), nil)
	at := time.UnixMilli(1_700_000_000_000)
	mebibyte := make([]byte, 1<<20)
	var keys []store.Key
	// The first is too large by itself; of the second, half is its seal.
	for i, n := range []int{9, 4, 3, 3, 0} {
		a := &store.Append{Row: store.Row{Key: store.Key{Tenant: "tenant", Owner: "owner", ID: fmt.Sprint(i)}, Updated: at, Created: at}}
		a.Entries = []store.Entry{{Seq: 1, Time: at, Body: []byte("{}")}}
		for len(a.Entries) <= n {
			a.Entries = append(a.Entries, store.Entry{Seq: int64(len(a.Entries) + 1), Time: at, Body: mebibyte})
		}
		if i == 1 {
			a.Entries = a.Entries[:3]
			a.Seal = &store.Seal{Head: mebibyte, Body: mebibyte}
		}
		if err := store.Do(t.Context(), s, a); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, a.Row.Key)
	}
	found, err := s.Ahead(t.Context(), append(keys, store.Key{ID: "none"}))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, task := range found {
		size += task.Seal.Size()
		for _, e := range task.Log {
			size += len(e.Body)
		}
	}
	if len(found) != 3 || found[keys[0]] != nil || size > aheadBytes {
		t.Errorf("%d tasks of %d bytes were read, want 3 of 8 MiB at most", len(found), size)
	}
}
