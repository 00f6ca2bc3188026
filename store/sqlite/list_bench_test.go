package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// listSizes are the tasks that BenchmarkList lists. With PARLEY_BENCH_LARGE set
// there is a million, too, which takes a minute to make.
func listSizes() []int {
	if os.Getenv("PARLEY_BENCH_LARGE") != "" {
		return []int{10_000, 100_000, 1_000_000}
	}
	return []int{10_000, 100_000}
}

// BenchmarkList lists tasks of one owner, one a second: one in 100 has another
// state, half of them are in one context, and the others in contexts of four.
func BenchmarkList(b *testing.B) {
	for _, n := range listSizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st := mustOpen(b, filepath.Join(b.TempDir(), "parley.db"), nil)
			fillList(b, st, n)
			at := func(i int) time.Time { return began.Add(time.Duration(i) * time.Second) }
			middle := &store.Position{Updated: at(n / 2), ID: "z"}
			for _, c := range []struct {
				name string
				q    store.Query
				want int
			}{
				{"first page", store.Query{}, n},
				{"page in the middle", store.Query{Before: middle}, n},
				{"of a state", store.Query{State: 3}, n - n/100},
				{"of a rare state", store.Query{State: 4}, n / 100},
				{"of a small context", store.Query{Context: "1"}, 2},
				{"of a large context", store.Query{Context: "large"}, n / 2},
				{"of a large context in the middle", store.Query{Context: "large", Before: middle}, n / 2},
				{"of a large context and a state", store.Query{Context: "large", State: 3}, n/2 - n/100},
				{"of a large context and a rare state", store.Query{Context: "large", State: 4}, n / 100},
				{"since long ago", store.Query{Since: at(n / 10)}, n - n/10},
				{"since lately", store.Query{Since: at(n - 100)}, 100},
				{"since long ago, in the middle", store.Query{Since: at(n / 10), Before: middle}, n - n/10},
				{"since long ago, of a state", store.Query{Since: at(n / 10), State: 3}, n - n/10 - (n-n/10)/100},
				{"since long ago, of a large context", store.Query{Since: at(n / 10), Context: "large"}, n/2 - n/20},
				{"all filters", store.Query{Since: at(n / 10), Context: "large", State: 3, Before: middle}, n/2 - n/20 - (n-n/10)/100},
			} {
				b.Run(c.name, func(b *testing.B) {
					c.q.Owner, c.q.Limit = "owner", 50
					for b.Loop() {
						p, err := st.List(b.Context(), c.q)
						if err != nil || p.Total != c.want || len(p.Records) != min(c.want, 50) {
							b.Fatalf("%d of %d, want %d, %v", len(p.Records), p.Total, c.want, err)
						}
					}
				})
			}
		})
	}
}

func fillList(b *testing.B, st *Store, n int) {
	var batch []*store.Append
	for i := range n {
		a := quickTask(i, true)
		a.Row.Owner, a.Row.ID = "owner", fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(i*2654435761), i)
		a.Row.Updated = began.Add(time.Duration(i) * time.Second)
		a.Row.State, a.Row.Context = 3, "large"
		if i%100 == 0 {
			a.Row.State = 4
		}
		if i%2 == 1 {
			a.Row.Context = fmt.Sprint(i / 4)
		}
		if batch = append(batch, a); len(batch) == 1000 || i == n-1 {
			for _, err := range queued(st, batch) {
				if err != nil {
					b.Fatal(err)
				}
			}
			batch = batch[:0]
		}
	}
}
