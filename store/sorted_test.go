package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A list equals a search of all tasks, whichever tasks were added, moved and removed before.
func TestListsAreWhatSearchFinds(t *testing.T) {
	const tasks = 500
	r := rand.New(rand.NewPCG(7, 0))
	m := NewMemory()
	defer m.Close()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	when := func() time.Time { return began.Add(time.Duration(r.IntN(2000)) * time.Millisecond) }
	name := func() Key { return Key{Owner: "owner", ID: fmt.Sprint(r.IntN(tasks))} }
	change := func(n int) {
		var batch []*Append
		ends := map[Key]int64{}
		for range n {
			a := &Append{Row: Row{Key: name(), State: int32(r.IntN(3)), Updated: when()}}
			a.Row.Context = []string{"", "a", "a", fmt.Sprint("c", r.IntN(9))}[r.IntN(4)]
			if _, known := ends[a.Row.Key]; !known {
				if rec, err := m.Get(t.Context(), a.Row.Key, RowOnly); err == nil {
					ends[a.Row.Key] = rec.Last
				}
			}
			a.After = ends[a.Row.Key]
			ends[a.Row.Key]++
			a.Entries = []Entry{{Seq: a.After + 1}}
			batch = append(batch, a)
		}
		for _, err := range m.commit(batch) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	forget := func(n int) {
		var rows []Row
		for range n {
			if rec, err := m.Get(t.Context(), name(), RowOnly); err == nil {
				rows = append(rows, rec.Row)
			}
		}
		if _, err := m.Delete(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	compare := func() {
		for range 100 {
			q := Query{Owner: "owner", State: int32(r.IntN(4)), Limit: 1 + r.IntN(tasks)}
			q.Context = []string{"", "a", "c1", "none"}[r.IntN(4)]
			if r.IntN(2) == 0 {
				q.Since = when()
			}
			if r.IntN(2) == 0 {
				k := name()
				q.Before = &Position{when(), k.ID, k.Owner}
			}
			got, err := m.List(context.Background(), q)
			q.AnyOwner = true // there is one
			want, _ := m.List(context.Background(), q)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v: %v (-searched +listed)\n%s", q, err, cmp.Diff(want, got))
			}
		}
	}
	for range 6 {
		change(tasks)
		compare()
		forget(tasks)
		compare()
	}
	for id := range tasks {
		if rec, err := m.Get(t.Context(), Key{Owner: "owner", ID: fmt.Sprint(id)}, RowOnly); err == nil {
			m.Delete(t.Context(), []Row{rec.Row})
		}
	}
	if len(m.data.lists) > 0 {
		t.Errorf("%d lists of nothing", len(m.data.lists))
	}
}

// To delete the oldest tasks, as retention does, moves none of the others.
func TestDeletionOfTheOldestMovesNothing(t *testing.T) {
	m := NewMemory()
	defer m.Close()
	now := time.Now()
	for i := range 9 {
		a := &Append{Row: Row{Key: Key{Owner: "owner", ID: fmt.Sprint(i)}, Updated: now.Add(time.Duration(i) * time.Second)}, Entries: []Entry{{Seq: 1, Time: now}}}
		if err := Do(t.Context(), m, a); err != nil {
			t.Fatal(err)
		}
	}
	list := func() sorted { return m.data.lists[listName{owner: "owner"}] }
	second := &list()[1]
	rows, err := m.Rows(t.Context(), []Key{{Owner: "owner", ID: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.Delete(t.Context(), rows); n != 1 || err != nil || len(list()) != 8 || &list()[0] != second {
		t.Errorf("%d deleted, %v; %d are left, moved: %t", n, err, len(list()), &list()[0] != second)
	}
}
