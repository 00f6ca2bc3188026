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
	Weights   *budget.Budget // memory of the tasks at work; nil: unlimited
	Log       *slog.Logger
	Meters    *RunMeters   // nil: nothing is measured
	Tracer    trace.Tracer // nil: nothing is traced

	TraceContent          bool // spans of runs have the content of messages
	CancelWait, StoreWait time.Duration
	MaxLost               int

	Agent    func(store.Key) *Agent     // the agent of a task; nil if this process does not have it
	Draining <-chan struct{}            // closed when no new work may begin
	Wrote    func(error)                // is told the outcome of each write
	Healthy  func(context.Context) bool // waits until the store takes writes; false: the context has ended
	Changed  func(*store.Row)           // is told of each task that is new or changed its state; may be nil
}

// Owners holds the owner of each task at work in this process, and takes up tasks of other
// processes.
type Owners struct {
	Needs

	base context.Context // of every turn
	end  context.CancelCauseFunc
	work sync.WaitGroup // owners, runs of the agent, and whatever starts either
	left atomic.Int64   // runs that a drain ended, except those that waited for a client

	MaxParked   int // how many agents may wait for their clients here; set before any work begins
	MaxParkedOf int // and how many for those of one caller

	taker  *taker
	crowd  crowd
	parked parked
	limits atomic.Pointer[Limits]

	// protected by the lock of topics
	m       map[store.Key]*Owner
	drained bool // no new work
}

// NewOwners returns an Owners without tasks. It starts nothing.
func NewOwners(s Needs) *Owners {
	os := &Owners{Needs: s, MaxParked: maxParked, MaxParkedOf: maxParkedOf, taker: newTaker(), m: map[store.Key]*Owner{}}
	os.base, os.end = context.WithCancelCause(context.Background())
	os.parked.hint, os.parked.of = make(chan struct{}, 1), map[store.Key]int{}
	return os
}

// SetLimits replaces the limits.
func (os *Owners) SetLimits(l *Limits) {
	os.limits.Store(l)
	os.Admission.SetLimits(l.Running, l.RunningPerOwner)
	for _, o := range os.AtWork() {
		o.nudge() // its time may be up by now
	}
}

// Enter registers work that a drain waits for, until Done. It returns false if no new work may
// begin.
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

// Refuse makes all new work fail from now on.
func (os *Owners) Refuse() {
	os.Topics.Lock()
	os.drained = true
	os.Topics.Unlock()
}

// Stop tells running agents to stop.
func (os *Owners) Stop() { os.end(agent.ErrDraining) }

// Wait waits until all work has ended; call Refuse first.
func (os *Owners) Wait() { os.work.Wait() }

// DrainedRuns returns how many runs Stop ended before they were done.
func (os *Owners) DrainedRuns() int { return int(os.left.Load()) }

// Count returns how many owners there are.
func (os *Owners) Count() int {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	return len(os.m)
}

// Now is the time as entries carry it.
func (os *Owners) Now() time.Time { return os.Nodes.Now().UTC().Truncate(time.Millisecond) }

// ScopeOf returns the key under which the tasks of k's caller are counted, across all agents.
func ScopeOf(k store.Key) store.Key {
	k = k.Scope()
	_, k.Tenant = AgentOf(k.Tenant)
	return k
}
