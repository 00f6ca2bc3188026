package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

func openBench(b *testing.B) *sqlite.Store {
	st, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	return st
}

func quietWorld(b *testing.B, st store.Store, ag agent.Agent) *Engine {
	e := New(st, ag, testCard(), nil)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			b.Error(err)
		}
	})
	return e
}

// BenchmarkEcho sends to completion, on SQLite with fsync. It reports how many
// log entries and tasks one fsync carries: the group commit at work.
func BenchmarkEcho(b *testing.B) {
	for _, callers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			st := openBench(b)
			e := quietWorld(b, st, parrot)
			before := st.Stats()
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						resp, err := e.SendMessage(context.Background(), send("x"))
						if err != nil || resp.Task.Status.State != a2a.TaskStateCompleted {
							b.Errorf("%+v, %v", resp, err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			after := st.Stats()
			commits := float64(after.Commits - before.Commits)
			b.ReportMetric(float64(after.Entries-before.Entries)/commits, "entries/fsync")
			b.ReportMetric(float64(b.N)/commits, "tasks/fsync")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// BenchmarkChunks streams one task of 100-byte chunks to its end, with a reader
// that reads all of it. The cost of a chunk must not grow with the task.
func BenchmarkChunks(b *testing.B) {
	text := make([]byte, 100)
	for i := range text {
		text[i] = 'x'
	}
	for _, n := range []int{100, 1000, 10000, 100000} {
		b.Run(fmt.Sprintf("chunks=%d", n), func(b *testing.B) {
			e := quietWorld(b, openBench(b), agent.Func(func(ctx context.Context, t *agent.Turn) error {
				w := t.Artifact("stream")
				for range n - 1 {
					if err := w.Add(a2a.TextPart(string(text))); err != nil {
						return err
					}
				}
				return w.Last(a2a.TextPart(string(text)))
			}))
			b.ReportAllocs()
			b.ResetTimer()
			start := time.Now()
			for range b.N {
				seen := 0
				for ev, err := range e.SendStreamingMessage(context.Background(), send("go")) {
					if err != nil {
						b.Fatal(err)
					}
					if ev.ArtifactUpdate != nil {
						seen++
					}
				}
				if seen != n {
					b.Fatalf("%d chunks, want %d", seen, n)
				}
			}
			b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(b.N*n), "ns/chunk")
		})
	}
}
