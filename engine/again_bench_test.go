package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// BenchmarkKnown is BenchmarkEcho for messages that are known when they come
// again: what it costs to take them, and to answer one that was taken.
func BenchmarkKnown(b *testing.B) {
	const callers = 64
	for _, c := range []struct {
		name, key string
		same      bool
	}{
		{"new", "", false},
		{"new with a key", "key", false},
		{"again", "", true},
	} {
		b.Run(c.name, func(b *testing.B) {
			st := openBench(b)
			e := quietWorld(b, st, parrot)
			ctx := a2a.WithCaller(context.Background(), a2a.Caller{Subject: "alice"})
			req := send("x")
			if _, err := e.SendMessage(ctx, req); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						r := req
						if !c.same {
							r = send("x")
							if c.key != "" {
								r.IdempotencyKey = r.Message.MessageID
							}
						}
						resp, err := e.SendMessage(ctx, r)
						if err != nil || resp.Task.Status.State != a2a.TaskStateCompleted {
							b.Errorf("%+v, %v", resp, err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
