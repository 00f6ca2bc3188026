package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var queryAllBehaviours = []behaviour{
	{"lists of all owners filter, order and count", testListAll},
	{"lists of all owners go on behind any position", testListAllBefore},
	{"the owners of an id are found", testOwners},
	{"work is counted by tenant and state", testWork},
	{"deleted tasks are in no list of all owners", testListAllDeleted},
}

// scattered fills a store with tasks of several owners that have the same IDs, and often the
// same times. It returns the rows in the order of lists.
func scattered(t testing.TB, st store.Store) []store.Row {
	t.Helper()
	var rows []store.Row
	for i, owner := range []string{"", "a", "b", "b\x00", "B", "é", "owner"} {
		for j, id := range []string{"1", "2", "two"} {
			a := create(store.Key{Tenant: "tenant", Owner: owner, ID: id}, 1)
			a.Row.Updated = began.Add(time.Duration((i+j)%3) * time.Second)
			a.Row.State, a.Row.Context = int32(1+(i+2*j)%2), fmt.Sprint("c", (i+j)%2)
			must(t, st, a)
			rows = append(rows, a.Row)
			foreign := create(store.Key{Tenant: "foreign", Owner: owner, ID: id}, 1)
			if i%2 == 0 {
				must(t, st, foreign)
			}
		}
	}
	slices.SortFunc(rows, func(a, b store.Row) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Owner, a.Owner))
	})
	return rows
}

// filters are the filters of lists.
var filters = []struct {
	what string
	set  func(q *store.Query)
}{
	{"all", func(*store.Query) {}},
	{"context", func(q *store.Query) { q.Context = "c1" }},
	{"state", func(q *store.Query) { q.State = 2 }},
	{"since", func(q *store.Query) { q.Since = began.Add(time.Second) }},
	{"all filters", func(q *store.Query) { q.Context, q.State, q.Since = "c0", 1, began.Add(time.Second) }},
	{"nothing", func(q *store.Query) { q.Context = "c9" }},
}

// lets reports whether a filter matches a row.
func lets(q *store.Query, r *store.Row) bool {
	return (q.Context == "" || r.Context == q.Context) && (q.State == 0 || r.State == q.State) &&
		(q.Since.IsZero() || !r.Updated.Before(q.Since))
}

// names returns the keys without the tenant, in the order of records.
func names(records []store.Record) []string {
	all := []string{}
	for _, r := range records {
		all = append(all, r.Owner+"/"+r.ID)
	}
	return all
}

func testListAll(t testing.TB, open Opener) {
	st := start(t, open)
	rows := scattered(t, st)
	st = restart(t, st, open)
	for _, f := range filters {
		// The owner in such a query is ignored.
		for _, owner := range []string{"", "b", "nobody"} {
			q := store.Query{Tenant: "tenant", Owner: owner, AnyOwner: true}
			f.set(&q)
			want := []string{}
			for i := range rows {
				if lets(&q, &rows[i]) {
					want = append(want, rows[i].Owner+"/"+rows[i].ID)
				}
			}
			for _, q.Limit = range []int{1, 2, 3, 5, 20, 21, 22} {
				same(t, fmt.Sprintf("%s, in pages of %d", f.what, q.Limit), names(listed(t, st, q)), want)
			}
		}
	}
	for _, limit := range []int{0, -1} {
		if _, err := st.List(t.Context(), store.Query{Tenant: "tenant", AnyOwner: true, Limit: limit}); err == nil {
			t.Errorf("a limit of %d was taken", limit)
		}
	}
	if p := list(t, st, store.Query{Tenant: "no such", AnyOwner: true, Limit: 1}); p.Total != 0 || p.More || len(p.Records) != 0 {
		t.Errorf("a tenant that does not exist has %+v", p)
	}
}

// testListAllBefore starts after each task, and after positions that are not those of a task.
// The list continues with the later tasks, and the total counts all tasks.
func testListAllBefore(t testing.TB, open Opener) {
	st := start(t, open)
	rows := scattered(t, st)
	for _, row := range rows {
		for _, owner := range []string{row.Owner, row.Owner + "x", ""} {
			for _, id := range []string{row.ID, row.ID + "x", ""} {
				at := store.Position{Updated: row.Updated, ID: id, Owner: owner}
				want := []string{}
				for i := range rows {
					if behind(&rows[i], at) {
						want = append(want, rows[i].Owner+"/"+rows[i].ID)
					}
				}
				for _, limit := range []int{2, 30} {
					p := list(t, st, store.Query{Tenant: "tenant", Owner: "nobody", AnyOwner: true, Before: &at, Limit: limit})
					same(t, fmt.Sprintf("behind %+v", at), names(p.Records), want[:min(limit, len(want))])
					if p.Total != len(rows) || p.More != (len(want) > limit) {
						t.Errorf("behind %+v: total %d, more %t; want %d, %t", at, p.Total, p.More, len(rows), len(want) > limit)
					}
				}
			}
		}
	}
}

// behind reports whether a row comes after a position in lists.
func behind(r *store.Row, at store.Position) bool {
	return cmp.Or(r.Updated.Compare(at.Updated), cmp.Compare(r.ID, at.ID), cmp.Compare(r.Owner, at.Owner)) < 0
}

func testOwners(t testing.TB, open Opener) {
	st := start(t, open)
	scattered(t, st)
	must(t, st, create(store.Key{Tenant: "tenant", Owner: "b", ID: "only"}, 1))
	all := []string{"", "B", "a", "b", "b\x00", "owner", "é"}
	for limit := 1; limit <= len(all)+1; limit++ {
		got, err := st.Owners(t.Context(), "tenant", "two", limit)
		wantError(t, "owners", err, nil)
		same(t, fmt.Sprintf("%d owners", limit), got, all[:min(limit, len(all))])
	}
	for id, want := range map[string][]string{"only": {"b"}, "none": {}, "": {}} {
		got, err := st.Owners(t.Context(), "tenant", id, 9)
		wantError(t, "owners", err, nil)
		same(t, "the owners of "+id, got, want)
	}
	if got, err := st.Owners(t.Context(), "no such", "two", 9); err != nil || len(got) != 0 {
		t.Errorf("a tenant that does not exist has the owners %q, %v", got, err)
	}
	for _, limit := range []int{0, -1} {
		if _, err := st.Owners(t.Context(), "tenant", "two", limit); err == nil {
			t.Errorf("a limit of %d was taken", limit)
		}
	}
	if _, err := st.Owners(ended(t), "tenant", "two", 1); err == nil {
		t.Error("a context that has ended was not noticed")
	}
}

// testWork tests the counts of work that drivers have for operators.
func testWork(t testing.TB, open Opener) {
	st := start(t, open)
	counter, ok := st.(interface {
		AllNamed(context.Context, string, int) ([]store.Key, error)
		AllWork(context.Context, []int32) ([]store.Work, error)
	})
	if !ok {
		t.Skip("it does not count work")
	}
	for i, r := range []store.Row{
		{Key: store.Key{Tenant: "a"}, State: 1, Active: true}, {Key: store.Key{Tenant: "a"}, State: 1}, {Key: store.Key{Tenant: "a", Owner: "b"}, State: 2},
		{Key: store.Key{Tenant: "a\x00"}, State: 3}, {Key: store.Key{}, State: 3, Active: true},
	} {
		r.ID = fmt.Sprint("task ", i)
		a := create(r.Key, 1)
		a.Row.State, a.Row.Active = r.State, r.Active
		must(t, st, a)
	}
	active := []store.Work{{Tenant: "", State: 3, Tasks: 1}, {Tenant: "a", State: 1, Tasks: 1}}
	idle := []store.Work{{Tenant: "", State: 3, Tasks: 1}, {Tenant: "a", State: 1, Tasks: 2}, {Tenant: "a", State: 2, Tasks: 1}}
	for _, c := range []struct {
		idle []int32
		want []store.Work
	}{{nil, active}, {[]int32{1, 2, 9}, idle}} {
		got, err := counter.AllWork(t.Context(), c.idle)
		wantError(t, "work", err, nil)
		slices.SortFunc(got, func(a, b store.Work) int {
			return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.State, b.State))
		})
		same(t, fmt.Sprintf("the work of %v", c.idle), got, c.want)
	}
	must(t, st, create(store.Key{Tenant: "b", Owner: "c", ID: "task 3"}, 1))
	for _, c := range []struct {
		id          string
		limit, want int
	}{{"task 2", 9, 1}, {"task 3", 9, 2}, {"task 3", 1, 1}, {"task", 9, 0}} {
		got, err := counter.AllNamed(t.Context(), c.id, c.limit)
		wantError(t, "named", err, nil)
		if len(got) != c.want {
			t.Errorf("%d tasks are found of %s, want %d", len(got), c.id, c.want)
		}
		for _, k := range got {
			if k.ID != c.id || get(t, st, k, false).Row.Key != k {
				t.Errorf("%+v is found of %s", k, c.id)
			}
		}
	}
	if _, err := counter.AllWork(ended(t), nil); err == nil {
		t.Error("a context that has ended was not noticed")
	}
}

func testListAllDeleted(t testing.TB, open Opener) {
	st := start(t, open)
	rows := scattered(t, st)
	var gone []store.Row
	for _, r := range rows {
		if r.ID == "two" || r.Owner == "a" { // this includes an owner's last task
			gone = append(gone, get(t, st, r.Key, false).Row)
		}
	}
	if n, err := st.Delete(t.Context(), gone); err != nil || n != len(gone) {
		t.Fatalf("%d were deleted, %v", n, err)
	}
	for _, r := range listed(t, st, store.Query{Tenant: "tenant", AnyOwner: true, Limit: 2}) {
		if r.ID == "two" || r.Owner == "a" {
			t.Errorf("%q/%q is listed", r.Owner, r.ID)
		}
	}
	for id, want := range map[string]int{"two": 0, "1": 6} {
		if got, err := st.Owners(t.Context(), "tenant", id, 9); err != nil || len(got) != want {
			t.Errorf("%s has the owners %q, %v; want %d", id, got, err, want)
		}
	}
}
