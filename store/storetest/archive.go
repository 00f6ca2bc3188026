package storetest

import (
	"slices"
	"testing"

	"github.com/parley-a2a/parley/store"
)

var archiveBehaviours = []behaviour{
	{"all tasks in the order of their keys", testTasks},
}

func testTasks(t *testing.T, open Opener) {
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
