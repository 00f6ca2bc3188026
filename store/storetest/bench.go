package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Benchmark measures a driver. fresh returns the Opener of an empty store.
//
//   - append/writers=n: n writers, each appending one entry of 300 bytes at a time to its own
//     task and waiting for the outcome. It reports entries/commit if the driver has Stats.
//     Each task gets 16 entries.
//   - get, list, entries: reads, from a store of 10,000 tasks and a log of 10,000 entries.
func Benchmark(b *testing.B, fresh func(t testing.TB) Opener) {
	for _, writers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("append/writers=%d", writers), func(b *testing.B) {
			benchAppend(b, start(b, fresh(b)), writers)
		})
	}
	b.Run("append/writers=64,readers=8", func(b *testing.B) {
		st := start(b, fresh(b))
		defer readers(b, st, 8)()
		benchAppend(b, st, 64)
	})
	st := start(b, fresh(b))
	fill(b, st)
	b.Run("get", func(b *testing.B) { benchGet(b, st) })
	for what, q := range map[string]store.Query{
		"all":     {},
		"context": {Context: "context 7"},
		"state":   {State: 3},
	} {
		q.Tenant, q.Owner, q.Limit = "tenant", "owner", 50
		b.Run("list/"+what, func(b *testing.B) { benchList(b, st, q) })
	}
	b.Run("entries/10000", func(b *testing.B) { benchEntries(b, st) })
}

// tasks is the number of tasks in the store for reads.
const tasks = 10_000

var body300 = fmt.Appendf(nil, "%0300d", 0)

// counter is implemented by drivers with Stats.
type counter interface{ Stats() store.Stats }

func benchAppend(b *testing.B, st store.Store, writers int) {
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	var before store.Stats
	c, counts := st.(counter)
	if counts {
		before = c.Stats()
	}
	took := make([][]time.Duration, writers)
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			var a *store.Append
			for i := 0; left.Add(-1) >= 0; i++ {
				if i%16 == 0 {
					a = create(name(fmt.Sprintf("%08d-0000-4000-8000-%012d", w, i)), 1)
				} else {
					a = then(a, 1)
				}
				a.Entries[0].Body = body300
				begin := time.Now()
				if err := store.Do(b.Context(), st, a); err != nil {
					b.Errorf("append: %v", err)
					return
				}
				took[w] = append(took[w], time.Since(begin))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, "p99-ms")
	if counts {
		after := c.Stats()
		b.ReportMetric(float64(after.Entries-before.Entries)/float64(after.Commits-before.Commits), "entries/commit")
	}
}

// readers lists tasks and reads logs on n goroutines until the returned function is called.
func readers(b *testing.B, st store.Store, n int) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				p := list(b, st, store.Query{Tenant: "tenant", Owner: "owner", Context: "context", Since: began, Limit: 20})
				for i := range p.Records {
					log(b, st, p.Records[i].Key, 0, 10)
				}
			}
		})
	}
	return func() { close(quit); wg.Wait() }
}

// fill makes finished tasks of 100 contexts and 5 states, and one long log.
func fill(b *testing.B, st store.Store) {
	var batch []*store.Append
	for i := range tasks {
		a := create(name(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)), 4)
		a.Row.Context, a.Row.State = fmt.Sprint("context ", i%100), int32(1+i%5)
		a.Row.Updated = began.Add(time.Duration(i) * time.Second)
		a.Row.Active = false
		a.Seal = &store.Seal{Head: body300, Body: slices.Concat(body300, body300)}
		batch = append(batch, a)
	}
	long := create(name("long"), 1)
	batch = append(batch, long)
	for range tasks/4 - 1 {
		long = then(long, 4)
		for i := range long.Entries {
			long.Entries[i].Body = body300[:100]
		}
		batch = append(batch, long)
	}
	batch = append(batch, then(long, 3))
	mustAll(b, st, batch)
}

func benchGet(b *testing.B, st store.Store) {
	b.ReportAllocs()
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1) * 7919 % tasks
			get(b, st, name(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)), true)
		}
	})
}

func benchList(b *testing.B, st store.Store, q store.Query) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if p := list(b, st, q); len(p.Records) != q.Limit {
				b.Fatalf("%d records", len(p.Records))
			}
		}
	})
}

// benchEntries reads the long log from its start, 256 entries at a time.
func benchEntries(b *testing.B, st store.Store) {
	b.ReportAllocs()
	for b.Loop() {
		var after int64
		for {
			es := log(b, st, name("long"), after, 256)
			if len(es) == 0 {
				break
			}
			after = es[len(es)-1].Seq
		}
		if after != tasks {
			b.Fatalf("the log ends at %d", after)
		}
	}
}
