package engine

import (
	"cmp"
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/store"
)

// meters count what an engine does. The methods may be called on nil, which an engine without
// Options.MeterProvider has, so they find out themselves what only a meter needs.
type meters struct {
	m *metrics.Meter

	storeErrors, hints, webhooks, dead *metrics.Count
}

func newMeters(m *metrics.Meter, st store.Store) *meters {
	if m == nil {
		return nil
	}
	if s, ok := st.(store.Metered); ok {
		took, sync := m.Histogram(metrics.CommitDuration), m.Histogram(metrics.CommitSync)
		entries, appends := m.Histogram(metrics.CommitEntries), m.Histogram(metrics.CommitTasks)
		s.OnCommit(func(c store.Commit) {
			ctx := context.Background()
			took.Record(ctx, c.Took.Seconds())
			if c.Sync > 0 {
				sync.Record(ctx, c.Sync.Seconds())
			}
			entries.Record(ctx, float64(c.Entries))
			appends.Record(ctx, float64(c.Appends))
		})
	}
	return &meters{
		m: m, storeErrors: m.Counter(metrics.StoreErrors),
		hints: m.Counter(metrics.HintsReceived), webhooks: m.Counter(metrics.WebhookAttempts), dead: m.Counter(metrics.WebhookDead),
	}
}

// storeFailed counts a write that the store did not take.
func (m *meters) storeFailed(err error) {
	if m == nil {
		return
	}
	reason, _ := trouble(err)
	m.storeErrors.Add(context.Background(), 1, reason)
}

// heard counts a hint of another process.
func (m *meters) heard(h store.Hint) {
	if m == nil {
		return
	}
	count := func(is bool, about string) {
		if is {
			m.hints.Add(context.Background(), 1, about)
		}
	}
	count(h.Task != 0, "task")
	count(h.Work, "work")
	count(h.Node != "", "mail")
	count(h.Lost, "lost")
}

// notified counts an attempt at a webhook.
func (m *meters) notified(ctx context.Context, v a2a.Verdict) {
	if m == nil {
		return
	}
	result := "failed"
	switch v {
	case a2a.Delivered:
		result = "delivered"
	case a2a.GiveUp:
		result = "given_up"
		m.dead.Add(ctx, 1)
	case a2a.DisableConfig:
		result = "disabled"
	}
	m.webhooks.Add(ctx, 1, result)
}

// observe makes gauges read the engine's state, until stop is called.
func (m *meters) observe(e *Engine) (stop func()) {
	if m == nil {
		return func() {}
	}
	return m.m.Observe(e.gauges,
		metrics.Ready, metrics.StoreUp, metrics.HintsConnected, metrics.Tasks, metrics.RunsActive, metrics.QueueLength, metrics.CapacityUsed, metrics.CapacityLimit,
		metrics.MemoryUsed, metrics.MemoryLimit, metrics.WebhookPending, metrics.WebhookOldest)
}

func (e *Engine) gauges(_ context.Context, is metrics.Reading) {
	up := e.Trouble() == nil
	is.Set(metrics.StoreUp, truth(up))
	is.Set(metrics.Ready, truth(up && e.Registered() && !e.stopping()))

	if s, ok := e.store.(store.Hinted); ok {
		is.Set(metrics.HintsConnected, truth(s.Hears()))
	}

	taken, queued := e.admission.Load()
	is.Set(metrics.QueueLength, float64(queued))
	if most := e.admission.Capacity; most > 0 {
		is.Set(metrics.CapacityUsed, float64(taken))
		is.Set(metrics.CapacityLimit, float64(most))
	}
	if b := e.opts.Memory; b != nil {
		is.Set(metrics.MemoryUsed, float64(b.Used()), "bodies")
		is.Set(metrics.MemoryLimit, float64(b.Total()), "bodies")
	}
	if b := e.owners.Weights; b != nil {
		is.Set(metrics.MemoryUsed, float64(b.Used()), "tasks")
		is.Set(metrics.MemoryLimit, float64(b.Total()), "tasks")
	}
	if e.outbox != nil {
		pending, oldest := e.outbox.Backlog()
		is.Set(metrics.WebhookPending, float64(pending))
		is.Set(metrics.WebhookOldest, oldest.Seconds())
	}

	type series struct{ agent, state string }
	tasks, runs := map[series]int{}, map[string]int{}
	for name := range *e.roster.Load() {
		runs[cmp.Or(name, metrics.DefaultAgent)] = 0
	}
	for name := range runs { // so that a series without tasks is zero, not a gap
		for _, state := range []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired} {
			tasks[series{name, task.StateLabel(state)}] = 0
		}
	}
	for _, o := range e.owners.AtWork() {
		state, need := o.Standing()
		name := task.AgentLabel(o.Key())
		if state != 0 {
			tasks[series{name, task.StateLabel(state)}]++
		}
		if need == place.Running || need == place.Leaving {
			runs[name]++
		}
	}
	for at, n := range tasks {
		is.Set(metrics.Tasks, float64(n), at.agent, at.state)
	}
	for name, n := range runs {
		is.Set(metrics.RunsActive, float64(n), name)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
