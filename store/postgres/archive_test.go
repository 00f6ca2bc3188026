package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Exports hold little in memory, however large tasks are: Ahead leaves large ones out, to be
// read page by page.
func TestAheadIsBounded(t *testing.T) {
	defer func(was int64) { aheadBytes = was }(aheadBytes)
	aheadBytes = 8 << 10
	s := mustOpen(t, copied(t), nil)
	at := time.UnixMilli(1_700_000_000_000)
	kibibyte := make([]byte, 1000)
	var keys []store.Key
	// The first is too large by itself; of the second, half is its seal; the last has too
	// many entries.
	for i, n := range []int{9, 4, 3, 3, 0, aheadEntries} {
		a := &store.Append{Row: store.Row{Key: store.Key{Tenant: "tenant", Owner: "owner", ID: fmt.Sprint(i)}, Updated: at, Created: at}}
		a.Entries = []store.Entry{{Seq: 1, Time: at, Body: []byte("{}")}}
		for len(a.Entries) <= n {
			body := kibibyte
			if n == aheadEntries {
				body = nil
			}
			a.Entries = append(a.Entries, store.Entry{Seq: int64(len(a.Entries) + 1), Time: at, Body: body})
		}
		if i == 1 {
			a.Entries = a.Entries[:3]
			a.Seal = &store.Seal{Head: kibibyte, Body: kibibyte}
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
	size := int64(0)
	for _, task := range found {
		size += int64(task.Seal.Size())
		for _, e := range task.Log {
			size += int64(len(e.Body))
		}
	}
	if len(found) != 3 || found[keys[0]] != nil || found[keys[5]] != nil || size > aheadBytes {
		t.Errorf("%d tasks of %d bytes were read, want 3 of %d at most", len(found), size, aheadBytes)
	}
}
