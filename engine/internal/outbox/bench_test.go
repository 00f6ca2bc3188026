package outbox

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// BenchmarkPendingToADeadHost measures what n deliveries cost that wait for a host on which
// every attempt times out: memory, a look at the store, and how long a delivery to another host
// takes meanwhile, on SQLite.
func BenchmarkPendingToADeadHost(b *testing.B) {
	for _, n := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			var wg sync.WaitGroup
			for part := range 64 {
				wg.Go(func() {
					for i := part; i < n; i += 64 {
						fill(b, st, fmt.Sprint("dead", i), "dead", "1.0", 1)
					}
				})
			}
			wg.Wait()
			arrived := make(chan time.Time, 1)
			r := &receivers{Serve: func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
				if n.Config.URL == "live" && n.Event.State().Terminal() {
					arrived <- time.Now()
				}
				return timesOut(ctx, n)
			}}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := newWorld(b, st, r)
			time.Sleep(3 * time.Second) // all that can be under way is
			begun := time.Now()
			if err := w.look(context.Background()); err != nil {
				b.Fatal(err)
			}
			looked := time.Since(begun)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ResetTimer()
			var took []time.Duration
			for range b.N {
				begun := time.Now()
				w.begin(b.Context(), store.Key{ID: fmt.Sprint("live", begun.UnixNano())}, a2a.TaskStateCompleted, 1,
					&a2a.TaskPushNotificationConfig{ID: "c", URL: "live"})
				took = append(took, (<-arrived).Sub(begun))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1024, "KiB")
			b.ReportMetric(float64(looked.Microseconds())/1000, "ms/look")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/delivery")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			w.stop()
		})
	}
}

// BenchmarkIdlePushes measures the memory of n configurations of tasks that go on and have
// nothing to deliver.
func BenchmarkIdlePushes(b *testing.B) {
	const n = 100_000
	for range b.N {
		o := New(&Engine{Store: store.NewMemory(), Node: "node", Now: time.Now})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			// Strings as the store returns them: not shared.
			p := &store.PushConfig{Key: store.Key{ID: fmt.Sprintf("%036d", i)}, ID: fmt.Sprintf("%036d", -i), Host: fmt.Sprint("h", i%100), Node: "node", Live: true, Progress: store.Progress{Cursor: 2}}
			o.Watch(p, 2)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/config")
		runtime.KeepAlive(o)
	}
}
