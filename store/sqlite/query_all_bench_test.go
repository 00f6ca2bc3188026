package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// BenchmarkAllOwners looks across 10,000 owners with 10 tasks each: at a first
// page, at one in the middle of the list, with a filter, and for the owners of
// an ID.
func BenchmarkAllOwners(b *testing.B) {
	const owners, each = 10_000, 10
	st, err := Open(filepath.Join(b.TempDir(), "parley.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	var appends []*store.Append
	for i := range owners * each {
		a := task(fmt.Sprint("task ", i/owners), 10)
		a.Row.Owner = fmt.Sprint("owner ", i%owners)
		a.Row.Updated = began.Add(time.Duration(i*7919%(owners*each)) * time.Second)
		a.Row.State = int32(1 + i%3)
		appends = append(appends, a)
	}
	for _, err := range queued(st, appends) {
		if err != nil {
			b.Fatal(err)
		}
	}
	middle := &store.Position{Updated: began.Add(owners * each / 2 * time.Second), ID: "task 5", Owner: "owner 5"}
	for _, c := range []struct {
		name string
		q    store.Query
	}{
		{"first page", store.Query{}},
		{"middle page", store.Query{Before: middle}},
		{"page of a state", store.Query{State: 2}},
		{"page of a time", store.Query{Since: middle.Updated}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.q.AnyOwner, c.q.Limit, c.q.Tenant = true, 50, appends[0].Row.Tenant
			for b.Loop() {
				p, err := st.List(b.Context(), c.q)
				if err != nil || len(p.Records) != 50 || !p.More {
					b.Fatalf("%+v, %v", p, err)
				}
			}
		})
	}
	b.Run("owners of an id", func(b *testing.B) {
		for b.Loop() {
			if all, err := st.Owners(b.Context(), appends[0].Row.Tenant, "task 9", owners); err != nil || len(all) != owners {
				b.Fatalf("%d owners, %v", len(all), err)
			}
		}
	})
	b.Run("no owner of an id", func(b *testing.B) {
		for b.Loop() {
			if all, err := st.Owners(b.Context(), appends[0].Row.Tenant, "no such", 1); err != nil || len(all) != 0 {
				b.Fatalf("%d owners, %v", len(all), err)
			}
		}
	})
}
