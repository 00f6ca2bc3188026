package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// BenchmarkPendingToADeadHost is what n deliveries cost that wait for a host
// that lets every attempt wait until its time is over: memory, a look at the
// store, and how long a delivery to another host takes meanwhile, on SQLite.
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
			r := &receivers{serve: func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
				if n.Config.URL == "live" && n.Event.State().Terminal() {
					arrived <- time.Now()
				}
				return timesOut(ctx, n)
			}}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := newWorldWith(b, st, parrot, pushCard(), &Options{Push: r, Logger: slog.New(slog.DiscardHandler)})
			time.Sleep(3 * time.Second) // all that can be under way is
			begun := time.Now()
			if err := w.outbox.look(context.Background()); err != nil {
				b.Fatal(err)
			}
			looked := time.Since(begun)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ResetTimer()
			var took []time.Duration
			for range b.N {
				begun := time.Now()
				req := send("x")
				req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "live"}}
				w.mustSend(req)
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

// BenchmarkIdlePushes is what n configurations weigh of tasks that go on and
// have nothing to deliver.
func BenchmarkIdlePushes(b *testing.B) {
	const n = 100_000
	for range b.N {
		e := New(store.NewMemory(), parrot, pushCard(), &Options{Push: &receivers{}})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			// Strings as the store returns them: nobody else has them.
			p := &store.PushConfig{Key: store.Key{ID: newID()}, ID: newID(), Host: fmt.Sprint("h", i%100), Node: e.node, Live: true, Progress: store.Progress{Cursor: 2}}
			e.outbox.watch(p, 2)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/config")
		runtime.KeepAlive(e)
	}
}

// slowWebhook measures, while a task of n chunks streams, how long each of its
// events takes from the agent to a stream, and how long the agent waits for its
// next one, in the middle and at worst. after, if not 0, is how long its webhook
// takes.
func slowWebhook(tb testing.TB, after time.Duration) (emit, stream, total time.Duration) {
	const n = 400
	st, err := sqlite.Open(filepath.Join(tb.TempDir(), "bench.db"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer st.Close()
	var emits []time.Duration
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		out := t.Artifact("out")
		for range n {
			pause(ctx, 2*time.Millisecond)
			begun := time.Now()
			text, _ := json.Marshal(begun)
			if err := out.Add(a2a.TextPart(string(text))); err != nil {
				return err
			}
			emits = append(emits, time.Since(begun))
		}
		return out.Last(a2a.TextPart("end"))
	})
	r := &receivers{serve: func(ctx context.Context, _ *a2a.Notification) a2a.Outcome {
		pause(ctx, after)
		return a2a.Outcome{}
	}}
	w := newWorldWith(tb, st, ag, pushCard(), &Options{Push: r, Logger: slog.New(slog.DiscardHandler)})
	req := send("go")
	if after > 0 {
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "slow"}}
	}
	begun := time.Now()
	var streams []time.Duration
	for ev, err := range w.SendStreamingMessage(tb.Context(), req) {
		if err != nil {
			tb.Fatal(err)
		}
		var said time.Time
		if ev.ArtifactUpdate != nil && json.Unmarshal([]byte(ev.ArtifactUpdate.Artifact.Parts[0].Text), &said) == nil {
			streams = append(streams, time.Since(said))
		}
	}
	total = time.Since(begun)
	if len(streams) != n || after > 0 && r.count("slow") != 1 {
		tb.Fatalf("%d events, %d attempts", len(streams), r.count("slow"))
	}
	w.stop()
	slices.Sort(emits)
	slices.Sort(streams)
	return emits[n/2], streams[n/2], total
}

// BenchmarkSlowWebhook measures with a webhook that takes 5 s and without, in
// turns, in one run.
func BenchmarkSlowWebhook(b *testing.B) {
	var emit, stream, total [2]time.Duration
	for range b.N {
		for i, after := range []time.Duration{0, 5 * time.Second} {
			e, s, t := slowWebhook(b, after)
			emit[i], stream[i], total[i] = emit[i]+e, stream[i]+s, total[i]+t
		}
	}
	for i, name := range []string{"without", "with"} {
		of := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
		b.ReportMetric(of(emit[i]), "µs/emit-"+name)
		b.ReportMetric(of(stream[i]), "µs/event-"+name)
		b.ReportMetric(of(total[i])/1000, "ms/task-"+name)
	}
}
