package task

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/outbox"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
	"go.opentelemetry.io/otel/trace"
)

// Needs is what the owners of tasks need from outside.
type Needs struct {
	Store     store.Store
	Read      *stored.Reader
	Topics    *topic.Topics
	Node      string // names this process in the store
	Nodes     place.Place
	Admission *place.Admission
	Outbox    *outbox.Outbox // nil without push notifications
	Weights   *budget.Budget // of the tasks at work; nil without
	Log       *slog.Logger
	Meters    *RunMeters   // nil: nothing is measured
	Tracer    trace.Tracer // nil: nothing is traced

	TraceContent          bool // of messages, in the spans of runs
	CancelWait, StoreWait time.Duration
	MaxLost               int

	Agent    func(store.Key) *Agent     // whose task it is; nil if it is not there
	Draining <-chan struct{}            // closed when nothing is to begin any more
	Wrote    func(error)                // hears how a write went
	Healthy  func(context.Context) bool // waits until the store takes writes; false: the context has ended
	Changed  func(*store.Row)           // hears of a task that is new or in another state; nil: nobody does
}

// Owners are those of the tasks that are at work in this process, and what takes up
// tasks of others.
type Owners struct {
	Needs

	base context.Context // of every turn
	end  context.CancelCauseFunc
	work sync.WaitGroup // owners, runs of the agent, and what begins either
	left atomic.Int64   // runs that ended because the process drains, but for those that wait for a client

	MaxParked int // how many agents may wait for their clients here; set before anything begins

	taker  *taker
	crowd  crowd
	parked parked
	limits atomic.Pointer[Limits]

	// protected by the lock of topics
	m       map[store.Key]*Owner
	drained bool // no new work
}

// NewOwners returns owners without any. It starts nothing.
func NewOwners(s Needs) *Owners {
	os := &Owners{Needs: s, MaxParked: maxParked, taker: newTaker(), m: map[store.Key]*Owner{}}
	os.base, os.end = context.WithCancelCause(context.Background())
	os.parked.hint = make(chan struct{}, 1)
	return os
}

// SetLimits puts other limits in the place of those that there are.
func (os *Owners) SetLimits(l *Limits) {
	os.limits.Store(l)
	os.Admission.SetLimits(l.Running, l.RunningPerOwner)
	for _, o := range os.AtWork() {
		o.nudge() // its time may be up by now
	}
}

// Enter counts something that a drain has to wait for, until Done. It returns false if
// nothing may begin any more.
func (os *Owners) Enter() bool {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	if os.drained {
		return false
	}
	os.work.Add(1)
	return true
}

// Done ends what Enter began.
func (os *Owners) Done() { os.work.Done() }

// Refuse lets nothing begin any more.
func (os *Owners) Refuse() {
	os.Topics.Lock()
	os.drained = true
	os.Topics.Unlock()
}

// Stop tells the agents that run to stop.
func (os *Owners) Stop() { os.end(agent.ErrDraining) }

// Wait waits for all that began: see Refuse.
func (os *Owners) Wait() { os.work.Wait() }

// DrainedRuns returns how many runs ended because of Stop, with more to do.
func (os *Owners) DrainedRuns() int { return int(os.left.Load()) }

// Count returns how many owners there are.
func (os *Owners) Count() int {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	return len(os.m)
}

// Now is the time as entries carry it.
func (os *Owners) Now() time.Time { return os.Nodes.Now().UTC().Truncate(time.Millisecond) }

// ScopeOf returns where the tasks of an owner are counted: whichever agent's they
// are.
func ScopeOf(k store.Key) store.Key {
	k = k.Scope()
	_, k.Tenant = AgentOf(k.Tenant)
	return k
}
