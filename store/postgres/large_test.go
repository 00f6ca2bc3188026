package postgres

import (
	"context"
	"crypto/md5"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

var large = flag.Bool("large", false, "make a database of 1,000,000 tasks and compare it with one of 10,000")

// Of 1,000,000 tasks a list or a record may take twice the time at most that it
// takes of 10,000, whichever way statements are sent. It takes minutes to make so
// many: go test -run TestLarge -large -v
func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("without -large")
	}
	c := pgtest.New(t, &pgtest.Options{Durable: true, Settings: map[string]string{"max_wal_size": "'4GB'"}})
	addresses := map[int]string{}
	sizes := []int{10_000, 1_000_000}
	for _, n := range sizes {
		addresses[n] = c.Database(t)
		fill(t, addresses[n], n)
	}
	for _, mode := range []string{"cache_describe", "cache_statement"} {
		stores := map[int]*Store{}
		for _, n := range sizes {
			s, err := Open(t.Context(), addresses[n]+"&default_query_exec_mode="+mode, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stores[n] = s
		}
		for _, way := range ways {
			took := map[int][]time.Duration{}
			for i := range 300 { // in turns: whatever else the machine does is the same for both
				for _, n := range sizes {
					at := time.Now()
					if err := way.call(t.Context(), stores[n], n, i); err != nil {
						t.Fatalf("%s: %v", way.name, err)
					}
					took[n] = append(took[n], time.Since(at))
				}
			}
			median := func(n int) time.Duration {
				all := took[n][50:] // the first fill caches
				slices.Sort(all)
				return all[len(all)/2]
			}
			few, many := median(sizes[0]), median(sizes[1])
			ratio := float64(many) / float64(few)
			t.Logf("%-15s %-35s %9v %9v  %.2f", mode, way.name, few, many, ratio)
			if ratio > 2 {
				t.Errorf("%s: %.2f times as long", way.name, ratio)
			}
		}
	}
}

// fill makes tasks, one a second until now, each of them as long as one that
// answered a question: a tenth in one context, the others in contexts of four.
func fill(t *testing.T, address string, n int) {
	t.Helper()
	s, err := Open(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO parley.task SELECT i, 'tenant', 'owner', convert_to(md5(i::text), 'UTF8'), "+
			"CASE WHEN i %% 10 = 0 THEN 'large' ELSE ('c' || i / 4)::bytea END, CASE WHEN i %% 20 = 0 THEN 1 WHEN i %% 20 = 1 THEN 2 WHEN i %% 4 = 2 THEN 4 ELSE 3 END, "+
			"u, u - 100, 3, false, 'node', 1, 0, 1, 1, decode(repeat('61', 100), 'hex'), decode(repeat('62', 600), 'hex') "+
			"FROM generate_series(1, %d) AS i, LATERAL (SELECT %d - (%d - i) * 1000::bigint AS u) AS u", n, filled.UnixMilli(), n),
		"ANALYZE",
	} {
		if _, err := s.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, context := range []string{"", "large"} {
		if err := s.promoteOne(t.Context(), scopeName{"tenant", "owner", context}); err != nil {
			t.Fatal(err)
		}
	}
}

// filled is when the last task of fill was updated.
var filled = time.UnixMilli(1_764_000_000_000)

// ways are what is measured.
var ways = []way{
	{"Get", func(ctx context.Context, s *Store, n, i int) error {
		_, err := s.Get(ctx, store.Key{Tenant: "tenant", Owner: "owner", ID: fmt.Sprintf("%x", md5.Sum(fmt.Append(nil, 1+n/300*i)))}, store.Whole)
		return err
	}},
	lists("first page", func(*store.Query, int, int) {}),
	lists("page in the middle", func(q *store.Query, n, i int) { q.Before = &store.Position{Updated: ago(n/2 + i)} }),
	lists("of a context", func(q *store.Query, n, i int) { q.Context = fmt.Sprint("c", n/8+i) }),
	lists("of a large context", func(q *store.Query, n, i int) { q.Context = "large" }),
	lists("of a state", func(q *store.Query, n, i int) { q.State = 4 }),
	lists("of a large context and a state", func(q *store.Query, n, i int) { q.Context, q.State = "large", 1 }),
	lists("since half of them", func(q *store.Query, n, i int) { q.Since = ago(n/2 + i) }),
	lists("since half of them and of a state", func(q *store.Query, n, i int) { q.Since, q.State = ago(n/2+i), 4 }),
}

// way is something to call, of a store of n tasks for the i-th time.
type way struct {
	name string
	call func(ctx context.Context, s *Store, n, i int) error
}

func lists(name string, change func(q *store.Query, n, i int)) way {
	return way{name, func(ctx context.Context, s *Store, n, i int) error {
		q := store.Query{Tenant: "tenant", Owner: "owner", Limit: 50}
		change(&q, n, i)
		p, err := s.List(ctx, q)
		if err == nil && (len(p.Records) == 0 || p.Total == 0) {
			return fmt.Errorf("a page of %d, and %d in all", len(p.Records), p.Total)
		}
		return err
	}}
}

func ago(seconds int) time.Time { return filled.Add(-time.Duration(seconds) * time.Second) }
