package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store/sqlite"
)

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
			wake.Pause(ctx, 2*time.Millisecond)
			begun := time.Now()
			text, _ := json.Marshal(begun)
			if err := out.Add(a2a.TextPart(string(text))); err != nil {
				return err
			}
			emits = append(emits, time.Since(begun))
		}
		return out.Last(a2a.TextPart("end"))
	})
	r := &receivers{Serve: func(ctx context.Context, _ *a2a.Notification) a2a.Outcome {
		wake.Pause(ctx, after)
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
	if len(streams) != n || after > 0 && r.Count("slow") != 1 {
		tb.Fatalf("%d events, %d attempts", len(streams), r.Count("slow"))
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
