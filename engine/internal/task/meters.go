package task

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/store"
)

// RunMeters count tasks and their runs. The methods may be called on nil, so they find out
// themselves what only a meter needs.
type RunMeters struct {
	started, ended, takenOver, attempts, steps *metrics.Count
	taskTime, standstill, runTime              *metrics.Spread
}

// NewRunMeters returns the meters of m; nil if m is nil.
func NewRunMeters(m *metrics.Meter) *RunMeters {
	if m == nil {
		return nil
	}
	return &RunMeters{
		started: m.Counter(metrics.TasksStarted), ended: m.Counter(metrics.TasksEnded), takenOver: m.Counter(metrics.TasksTakenOver),
		attempts: m.Counter(metrics.RunAttempts), steps: m.Counter(metrics.Steps),
		taskTime: m.Histogram(metrics.TaskDuration), standstill: m.Histogram(metrics.RunQueue), runTime: m.Histogram(metrics.RunDuration),
	}
}

// AgentLabel is the value of the label agent: the name in the keys of its tasks.
func AgentLabel(k store.Key) string {
	name, _ := AgentOf(k.Tenant)
	return cmp.Or(name, metrics.DefaultAgent)
}

// StateLabel is the value of the label state.
func StateLabel(s a2a.TaskState) string {
	if s < 1 || int(s) > len(StateLabels) {
		return metrics.Other
	}
	return StateLabels[s-1]
}

var StateLabels = func() (all []string) {
	for s := a2a.TaskStateSubmitted; s <= a2a.TaskStateAuthRequired; s++ {
		all = append(all, strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")))
	}
	return all
}()

// committed counts the tasks that a committed append began or ended.
func (m *RunMeters) committed(o *Owner, f *flight) {
	if m == nil || !f.news {
		return
	}
	ctx, name := context.Background(), AgentLabel(o.key) // the owner's context has no span, and looking for one takes long
	for i := range f.records {
		switch en := f.records[i].entry; {
		case en.Kind == a2a.EntryCreated:
			m.started.Add(ctx, 1, name)
		case en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal():
			state := StateLabel(en.Status.Status.State)
			m.ended.Add(ctx, 1, name, state)
			m.taskTime.Record(ctx, en.Time.Sub(o.saved.row.Created).Seconds(), name, state)
		}
	}
}

// tookOver counts a task that was taken over from a dead process.
func (m *RunMeters) tookOver(ctx context.Context, k store.Key) {
	if m != nil {
		m.takenOver.Add(ctx, 1, AgentLabel(k))
	}
}

// causeLocked returns why the agent is about to run, and how long its task stood still.
func (o *Owner) causeLocked() (why string, stood time.Duration) {
	why = "message"
	switch {
	case o.phase != phaseResting:
		return why, 0
	case o.turn.attempt == 0:
	case o.turn.lost > 0:
		why = "lost"
	default:
		why = "resumed"
	}
	return why, max(time.Since(o.out.last), time.Nanosecond)
}

// began counts a run of an agent, whose context may have a span, and returns when it began.
func (m *RunMeters) began(ctx context.Context, o *Owner, why string, stood time.Duration) time.Time {
	if m == nil {
		return time.Time{}
	}
	name := AgentLabel(o.key)
	m.attempts.Add(ctx, 1, name, why)
	if stood > 0 {
		m.standstill.Record(ctx, stood.Seconds(), name)
	}
	return time.Now()
}

// over counts the end of a run.
func (m *RunMeters) over(ctx context.Context, o *Owner, begun time.Time, err error) {
	if m == nil {
		return
	}
	result := "ok"
	if err != nil {
		switch context.Cause(o.ctx.Context) {
		case agent.ErrDraining:
			result = "left"
		case agent.ErrCanceled:
			result = "canceled"
		default:
			result = "failed"
		}
	}
	m.runTime.Record(ctx, time.Since(begun).Seconds(), AgentLabel(o.key), result)
}

// step counts a step of an agent: replayed, done or failed.
func (m *RunMeters) step(ctx context.Context, o *Owner, result string) {
	if m != nil {
		m.steps.Add(ctx, 1, AgentLabel(o.key), result)
	}
}

// AtWork returns all owners.
func (os *Owners) AtWork() []*Owner {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	all := make([]*Owner, 0, len(os.m))
	for _, o := range os.m {
		all = append(all, o)
	}
	return all
}

// Standing returns the state of o's task, 0 if it does not exist yet, and what it needs of the
// Admission.
func (o *Owner) Standing() (a2a.TaskState, place.Need) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.out.exists {
		return 0, o.needLocked()
	}
	return o.draft.state, o.needLocked()
}
