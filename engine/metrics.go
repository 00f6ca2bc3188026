package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/store"
)

// meters are what an engine counts. Its methods may be called on nil, which is what
// an engine without Options.MeterProvider has; so whatever only a meter needs is
// found out in them.
type meters struct {
	m *metrics.Meter

	started, ended, takenOver, attempts, steps, storeErrors, webhooks, dead *metrics.Count
	taskTime, standstill, runTime                                           *metrics.Spread
}

func newMeters(o *Options, st store.Store) *meters {
	m := metrics.New(o.MeterProvider)
	if m == nil {
		return nil
	}
	if s, ok := st.(store.Metered); ok {
		took, sync := m.Histogram(metrics.CommitDuration), m.Histogram(metrics.CommitSync)
		entries, appends := m.Histogram(metrics.CommitEntries), m.Histogram(metrics.CommitTasks)
		s.OnCommit(func(c store.Commit) {
			ctx := context.Background()
			took.Record(ctx, c.Took.Seconds())
			sync.Record(ctx, c.Sync.Seconds())
			entries.Record(ctx, float64(c.Entries))
			appends.Record(ctx, float64(c.Appends))
		})
	}
	return &meters{
		m:       m,
		started: m.Counter(metrics.TasksStarted), ended: m.Counter(metrics.TasksEnded), takenOver: m.Counter(metrics.TasksTakenOver),
		attempts: m.Counter(metrics.RunAttempts), steps: m.Counter(metrics.Steps), storeErrors: m.Counter(metrics.StoreErrors),
		webhooks: m.Counter(metrics.WebhookAttempts), dead: m.Counter(metrics.WebhookDead),
		taskTime: m.Histogram(metrics.TaskDuration), standstill: m.Histogram(metrics.RunQueue), runTime: m.Histogram(metrics.RunDuration),
	}
}

// agentLabel is the value of the label agent: the name in the keys of its tasks.
func agentLabel(k store.Key) string {
	name, _ := AgentOf(k.Tenant)
	return cmp.Or(name, metrics.DefaultAgent)
}

// stateLabel is the value of the label state.
func stateLabel(s a2a.TaskState) string {
	if s < 1 || int(s) > len(stateLabels) {
		return metrics.Other
	}
	return stateLabels[s-1]
}

var stateLabels = func() (all []string) {
	for s := a2a.TaskStateSubmitted; s <= a2a.TaskStateAuthRequired; s++ {
		all = append(all, strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")))
	}
	return all
}()

// committed counts what an append that is on disk began or ended.
func (m *meters) committed(o *owner, f *flight) {
	if m == nil {
		return
	}
	ctx := context.Background() // an owner's has no span, and is long to search
	for i := range f.records {
		switch en := f.records[i].entry; {
		case en.Kind == a2a.EntryCreated:
			m.started.Add(ctx, 1, agentLabel(o.key))
		case en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal():
			state := stateLabel(en.Status.Status.State)
			m.ended.Add(ctx, 1, agentLabel(o.key), state)
			m.taskTime.Record(ctx, en.Time.Sub(o.saved.row.Created).Seconds(), agentLabel(o.key), state)
		}
	}
}

// tookOver counts tasks of processes that are gone.
func (m *meters) tookOver(ctx context.Context, k store.Key) {
	if m != nil {
		m.takenOver.Add(ctx, 1, agentLabel(k))
	}
}

// cause is why an agent runs.
type cause uint8

const (
	forMessage cause = iota
	afterLoss
	afterRestart
)

func (c cause) String() string { return [...]string{"message", "lost", "resumed"}[c] }

// causeLocked is why the agent is about to run, and how long its task stood still.
func (o *owner) causeLocked() (why cause, stood time.Duration) {
	if o.phase != phaseResting {
		return forMessage, 0
	}
	switch {
	case o.turn.attempt == 0:
	case o.turn.lost > 0:
		why = afterLoss
	default:
		why = afterRestart
	}
	return why, max(time.Since(o.out.last), time.Nanosecond)
}

// began counts a run of an agent, whose context may have a span. The function it
// returns is for the run's end.
func (m *meters) began(ctx context.Context, o *owner) (ended func(error)) {
	if m == nil {
		return func(error) {}
	}
	o.mu.Lock()
	why, stood := o.adm.why, o.adm.stood
	o.mu.Unlock()
	begun, name := time.Now(), agentLabel(o.key)
	m.attempts.Add(ctx, 1, name, why.String())
	if stood > 0 {
		m.standstill.Record(ctx, stood.Seconds(), name)
	}
	return func(err error) {
		result := "failed"
		switch reason := context.Cause(o.ctx.Context); {
		case err == nil:
			result = "ok"
		case reason == agent.ErrDraining:
			result = "left"
		case reason == agent.ErrCanceled:
			result = "canceled"
		}
		m.runTime.Record(ctx, time.Since(begun).Seconds(), name, result)
	}
}

// step counts a step of an agent: replayed, done or failed.
func (m *meters) step(ctx context.Context, o *owner, result string) {
	if m != nil {
		m.steps.Add(ctx, 1, agentLabel(o.key), result)
	}
}

// storeFailed counts a write that the store did not take.
func (m *meters) storeFailed(err error) {
	if m == nil {
		return
	}
	reason := metrics.Other
	switch {
	case errors.Is(err, store.ErrFull):
		reason = "full"
	case errors.Is(err, store.ErrReadOnly):
		reason = "read_only"
	case errors.Is(err, store.ErrBusy):
		reason = "busy"
	case errors.Is(err, store.ErrUnreachable):
		reason = "unreachable"
	}
	m.storeErrors.Add(context.Background(), 1, reason)
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

// observe lets gauges be read from what the engine knows, until stop is called.
func (m *meters) observe(e *Engine) (stop func()) {
	if m == nil {
		return func() {}
	}
	return m.m.Observe(e.gauges,
		metrics.Ready, metrics.StoreUp, metrics.Tasks, metrics.RunsActive, metrics.QueueLength, metrics.CapacityUsed, metrics.CapacityLimit,
		metrics.MemoryUsed, metrics.MemoryLimit, metrics.WebhookPending, metrics.WebhookOldest)
}

func (e *Engine) gauges(_ context.Context, is metrics.Reading) {
	up := e.Trouble() == nil
	is.Set(metrics.StoreUp, truth(up))
	is.Set(metrics.Ready, truth(up && e.Registered() && !e.stopping()))

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
	if b := e.weights; b != nil {
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
	for name := range e.roster.Load().named {
		runs[name] = 0
	}
	if e.roster.Load().front != nil {
		runs[metrics.DefaultAgent] = 0
	}
	for name := range runs { // so that a task that goes leaves a zero, not a gap
		for _, state := range []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired} {
			tasks[series{name, stateLabel(state)}] = 0
		}
	}
	for _, o := range e.atWork() {
		state, need := o.standing()
		name := agentLabel(o.key)
		if state != 0 {
			tasks[series{name, stateLabel(state)}]++
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

// atWork returns the owners there are.
func (e *Engine) atWork() []*owner {
	e.topics.Lock()
	defer e.topics.Unlock()
	all := make([]*owner, 0, len(e.owners))
	for _, o := range e.owners {
		all = append(all, o)
	}
	return all
}

// standing is the state of o's task, 0 if it does not exist yet, and what it needs.
func (o *owner) standing() (a2a.TaskState, place.Need) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.out.exists {
		return 0, o.needLocked()
	}
	return o.draft.state, o.needLocked()
}
