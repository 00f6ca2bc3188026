package engine

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// scraped is the result of scraping an engine.
type scraped struct {
	t  testing.TB
	to *sdkmetric.ManualReader
}

func newScraped(t testing.TB) (scraped, *sdkmetric.MeterProvider) {
	to := sdkmetric.NewManualReader()
	return scraped{t, to}, sdkmetric.NewMeterProvider(sdkmetric.WithReader(to))
}

// get returns the values of a metric by the value of a label, of a histogram how
// often something was measured.
func (c scraped) get(row *metrics.Metric, label string) map[string]float64 {
	c.t.Helper()
	var all metricdata.ResourceMetrics
	if err := c.to.Collect(context.Background(), &all); err != nil {
		c.t.Fatal(err)
	}
	got := map[string]float64{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name != row.Name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					v, _ := p.Attributes.Value(attribute.Key(label))
					got[v.AsString()] += float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					v, _ := p.Attributes.Value(attribute.Key(label))
					got[v.AsString()] += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					v, _ := p.Attributes.Value(attribute.Key(label))
					got[v.AsString()] += float64(p.Count)
				}
			}
		}
	}
	return got
}

// logged counts the tasks of a store and the states that they ended in, as their
// logs have them.
func logged(t testing.TB, st store.Store) (tasks int, ended map[string]float64) {
	t.Helper()
	ended = map[string]float64{}
	rows, err := st.Tasks(t.Context(), nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		for raw, err := range store.EachEntry(t.Context(), st, r.Key, 0, r.Last) {
			if err != nil {
				t.Fatal(err)
			}
			if a2a.EntryKind(raw.Kind) != a2a.EntryStatus {
				continue
			}
			en, err := a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
			if err != nil {
				t.Fatal(err)
			}
			if s := en.Status.Status.State; s.Terminal() {
				ended[task.StateLabel(s)]++
			}
		}
	}
	return len(rows), ended
}

// Metrics are scraped while tasks run, a process dies and another one takes its tasks over: in
// the end they agree with the log.
func TestMetricsAgreeWithTheLog(t *testing.T) {
	st, err := sqlite.Open(t.TempDir()+"/tasks.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	release := make(chan struct{})
	ag := agent.Func(func(ctx context.Context, tu *agent.Turn) error {
		if err := tu.Status("at work"); err != nil {
			return err
		}
		if _, err := agent.Step(ctx, tu, "once", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return err
		}
		switch tu.Text() {
		case "fail":
			return tu.Fail("as asked")
		case "reject":
			return tu.Reject("as asked")
		case "ask":
			if _, err := tu.Ask(ctx, "well?"); err != nil {
				return err
			}
		case "wait":
			select {
			case <-release:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})

	one, p1 := newScraped(t)
	w, kill := newMortal(t, st, ag, &Options{MeterProvider: p1})
	for late := time.Now().Add(time.Minute); one.get(metrics.Ready, "")[""] != 1; runtime.Gosched() { // gauges come with Run, which the scraper below may hold up
		if time.Now().After(late) {
			t.Fatal("the engine is never ready")
		}
	}
	stop := make(chan struct{})
	var scraper, senders sync.WaitGroup
	scraper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				one.get(metrics.Tasks, "state")
			}
		}
	})
	const each = 10
	var mu sync.Mutex
	var waiting []*a2a.Task
	for range each {
		for _, text := range []string{"ok", "fail", "reject", "ask", "wait"} {
			senders.Go(func() {
				req := send(text)
				if text == "wait" {
					req = sendNow(text)
				}
				resp, err := w.SendMessage(t.Context(), req)
				if err != nil || resp.Task == nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				if text == "wait" {
					mu.Lock()
					waiting = append(waiting, resp.Task)
					mu.Unlock()
				}
			})
		}
	}
	senders.Wait()
	for _, task := range waiting { // until the step of each is in the log
		w.eventually(task.ID, a2a.TaskStateWorking)
	}
	close(stop)
	scraper.Wait()
	if got := one.get(metrics.Tasks, "state"); got["working"] != each || got["input_required"] != each || got["submitted"] != 0 {
		t.Errorf("tasks in memory: %v", got)
	}
	if got := one.get(metrics.RunsActive, "agent"); got["default"] != each { // those that ask do nothing
		t.Errorf("runs under way: %v", got)
	}
	if got := one.get(metrics.Ready, ""); got[""] != 1 {
		t.Errorf("ready: %v", got)
	}
	started, ended := one.get(metrics.TasksStarted, ""), one.get(metrics.TasksEnded, "state")
	tasks, log := logged(t, st)
	if started[""] != float64(tasks) || tasks != 5*each || !maps.Equal(ended, log) {
		t.Errorf("before the end %v started and %v ended, the log has %d and %v", started, ended, tasks, log)
	}
	kill()

	two, p2 := newScraped(t)
	w = newWorldWith(t, st, ag, testCard(), &Options{MeterProvider: p2, DrainWait: time.Minute})
	close(release)
	for _, task := range waiting {
		w.eventually(task.ID, a2a.TaskStateCompleted)
	}
	if got := two.get(metrics.TasksTakenOver, ""); got[""] != each {
		t.Errorf("taken over: %v", got)
	}
	if got := two.get(metrics.RunAttempts, "reason"); !maps.Equal(got, map[string]float64{"lost": each}) {
		t.Errorf("runs: %v", got)
	}
	if got := two.get(metrics.RunQueue, "agent"); got["default"] != each {
		t.Errorf("runs that waited: %v", got)
	}
	tasks, log = logged(t, st)
	for state, n := range two.get(metrics.TasksEnded, "state") {
		ended[state] += n
	}
	if n := two.get(metrics.TasksStarted, "")[""]; n != 0 || started[""] != float64(tasks) || !maps.Equal(ended, log) {
		t.Errorf("in the end %v and %v started and %v ended, the log has %d and %v", started, n, ended, tasks, log)
	}
	if got := two.get(metrics.Steps, "result"); got["done"]+got["replayed"] != each {
		t.Errorf("steps: %v", got)
	}
	if got := two.get(metrics.CommitEntries, ""); got[""] == 0 {
		t.Error("no commit was measured")
	}
	w.stop()
	if got := two.get(metrics.Ready, ""); len(got) != 0 {
		t.Errorf("an engine that has ended is measured: %v", got)
	}
	if got := two.get(metrics.RunDuration, "result"); got["ok"] != each {
		t.Errorf("runs that ended: %v", got)
	}
}

// Each state has a label, which the table has.
func TestStateLabels(t *testing.T) {
	if len(task.StateLabels) != len(metrics.States) {
		t.Fatalf("%v, the table has %v", task.StateLabels, metrics.States)
	}
	known := map[string]bool{}
	for _, s := range metrics.States {
		known[s] = true
	}
	for _, s := range task.StateLabels {
		if !known[s] {
			t.Errorf("%s is not in the table", s)
		}
	}
}
