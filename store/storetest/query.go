package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var queryBehaviours = []behaviour{
	{"lists filter, order and count", testList},
	{"paging goes on while tasks come and change", testListMoves},
}

// listed returns a whole list of an owner, read in pages, and checks that the pages agree
// with their totals.
func listed(t testing.TB, st store.Store, q store.Query) []store.Record {
	t.Helper()
	var all []store.Record
	total := -1
	for {
		p := list(t, st, q)
		if total < 0 {
			total = p.Total
		}
		if p.Total != total {
			t.Errorf("list %+v: total %d on one page, %d on another", q, total, p.Total)
		}
		if len(p.Records) > q.Limit || p.More && len(p.Records) < q.Limit {
			t.Errorf("list %+v: %d records, more: %t", q, len(p.Records), p.More)
		}
		all = append(all, p.Records...)
		if !p.More || len(p.Records) == 0 {
			break
		}
		last := &p.Records[len(p.Records)-1]
		q.Before = &store.Position{Updated: last.Updated, ID: last.ID, Owner: last.Owner}
	}
	if len(all) != total {
		t.Errorf("list %+v: %d records, total %d", q, len(all), total)
	}
	return all
}

func ids(records []store.Record) []string {
	all := []string{}
	for _, r := range records {
		all = append(all, r.ID)
	}
	return all
}

func testList(t testing.TB, open Opener) {
	st := start(t, open)
	for i, task := range []struct {
		id, context string
		state       int32
		updated     time.Duration
	}{
		{"a", "c1", 1, 0},
		{"b", "c1", 2, 1 * time.Millisecond},
		{"c", "c2", 1, 1 * time.Millisecond}, // a tie with b and d
		{"d", "c1", 1, 1 * time.Millisecond},
		{"e", "c2", 3, 5 * time.Second},
		{"B", "c1", 1, 1 * time.Millisecond}, // the order is that of bytes, not of letters
		{"f", "", 2, -time.Hour},
	} {
		a := create(name(task.id), 1)
		a.Row.Context, a.Row.State, a.Row.Updated = task.context, task.state, began.Add(task.updated)
		other := create(store.Key{Tenant: "tenant", Owner: "other", ID: task.id}, 1)
		foreign := create(store.Key{Tenant: "other", Owner: "owner", ID: task.id}, 1)
		must(t, st, a)
		if i%2 == 0 {
			must(t, st, other, foreign)
		}
	}
	st = restart(t, st, open)
	ms := time.Millisecond
	for _, c := range []struct {
		what string
		q    store.Query
		want []string
	}{
		{"all", store.Query{}, []string{"e", "d", "c", "b", "B", "a", "f"}},
		{"context", store.Query{Context: "c1"}, []string{"d", "b", "B", "a"}},
		{"state", store.Query{State: 1}, []string{"d", "c", "B", "a"}},
		{"both", store.Query{Context: "c1", State: 1}, []string{"d", "B", "a"}},
		{"since", store.Query{Since: began.Add(ms)}, []string{"e", "d", "c", "b", "B"}},
		{"since, finer digits", store.Query{Since: began.Add(ms + 999*time.Microsecond)}, []string{"e", "d", "c", "b", "B"}},
		{"since later", store.Query{Since: began.Add(2 * ms)}, []string{"e"}},
		{"all filters", store.Query{Context: "c1", State: 1, Since: began.Add(ms)}, []string{"d", "B"}},
		{"nothing", store.Query{Context: "c3"}, []string{}},
		{"an unknown state", store.Query{State: 9}, []string{}},
	} {
		c.q.Tenant, c.q.Owner = "tenant", "owner"
		for limit := 1; limit <= 8; limit++ {
			c.q.Limit = limit
			same(t, fmt.Sprintf("%s, in pages of %d", c.what, limit), ids(listed(t, st, c.q)), c.want)
		}
	}
	// A position need not be that of a task, and does not affect the total.
	q := store.Query{Tenant: "tenant", Owner: "owner", Limit: 2, Before: &store.Position{Updated: began.Add(ms), ID: "bb"}}
	p := list(t, st, q)
	same(t, "from between", ids(p.Records), []string{"b", "B"})
	if p.Total != 7 || !p.More {
		t.Errorf("total %d, more %t; want 7, true", p.Total, p.More)
	}
	q.Before = &store.Position{Updated: began.Add(-2 * time.Hour)}
	if p := list(t, st, q); len(p.Records) != 0 || p.More || p.Total != 7 {
		t.Errorf("behind the end: %d records, more %t, total %d; want 0, false, 7", len(p.Records), p.More, p.Total)
	}
	for _, q.Limit = range []int{0, -1} {
		if _, err := st.List(t.Context(), q); err == nil {
			t.Errorf("a limit of %d was taken", q.Limit)
		}
	}
}

// testListMoves reads a list in pages while others add tasks and move some to the front:
// every task that is not moved comes exactly once.
func testListMoves(t testing.TB, open Opener) {
	st := start(t, open)
	const still = 60
	var want []string
	movers := make([]*store.Append, 10)
	for i := range still {
		a := create(name(fmt.Sprintf("still %02d", i)), 1)
		a.Row.Updated = began.Add(time.Duration(i/4) * time.Second) // ties
		must(t, st, a)
		want = append(want, a.Row.ID)
	}
	slices.Reverse(want)
	for i := range movers {
		movers[i] = create(name(fmt.Sprint("mover ", i)), 1)
		must(t, st, movers[i])
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			at := began.Add(time.Hour + time.Duration(i)*time.Second)
			fresh := create(name(fmt.Sprint("fresh ", i)), 1)
			fresh.Row.Updated = at
			m := then(movers[i%len(movers)], 1)
			m.Row.Updated = at
			movers[i%len(movers)] = m
			for _, err := range queue(st, []*store.Append{fresh, m}) {
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		}
	})
	var got []string
	q := store.Query{Tenant: "tenant", Owner: "owner", Limit: 3}
	for more := true; more; {
		p := list(t, st, q)
		more = p.More
		for _, r := range p.Records {
			if r.Updated.Before(began.Add(time.Hour)) && r.ID[0] == 's' {
				got = append(got, r.ID)
			}
			q.Before = &store.Position{Updated: r.Updated, ID: r.ID}
		}
	}
	close(stop)
	wg.Wait()
	same(t, "tasks that did not move", got, want)
}
