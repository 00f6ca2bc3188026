package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/outbox"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
	"go.opentelemetry.io/otel/trace"
)

// Engine is an a2a.Service over an agent and a store, or several Services over one store: see
// NewHost.
type Engine struct {
	service // of the agent without a name

	// set by New, then constant
	store  store.Store
	read   *stored.Reader
	topics *topic.Topics
	owners *task.Owners
	opts   *Options
	log    *slog.Logger
	node   string // names this process in the store
	nodes  place.Place

	admission place.Admission
	health    *storeHealth
	meters    *meters      // nil: nothing is measured
	tracer    trace.Tracer // nil: nothing is traced

	replacing sync.Mutex // held by Replace
	roster    atomic.Pointer[roster]

	draining chan struct{} // closed when Run ends

	peers    *topic.Peers // nil: no other process has this store
	observer Observer     // may be nil; set before Run, then constant

	tokenKey atomic.Pointer[[]byte]
	letters  *place.Duty    // to send dead letters again
	outbox   *outbox.Outbox // nil without push notifications
	sends    sends
	adding   adding
	mailHint chan struct{} // capacity one: there may be messages for this process
	forwards forwards
}

var _ a2a.Service = (*Engine)(nil)

// New returns an Engine that runs ag and keeps its tasks in st. The Engine enforces what card
// declares: capabilities, input modes, required extensions. New starts nothing: call Run, which
// resumes the tasks of earlier processes and, at its end, closes an agent that is an io.Closer.
// New panics if st, ag or card is nil.
func New(st store.Store, ag agent.Agent, card *a2a.AgentCard, o *Options) *Engine {
	if st == nil || ag == nil || card == nil {
		panic("engine: New needs a store, an agent and a card")
	}
	h := Hosted{Agent: ag, Card: card}
	if o != nil {
		h.ExtendedCard = o.ExtendedCard
	}
	e, err := newEngine(st, []Hosted{h}, o, false)
	if err != nil {
		panic(err) // cannot happen with one agent
	}
	return e
}

// NewHost is New for any number of agents, which may be replaced. All have one store and share
// the limits of Options; Options.ExtendedCard is for New alone. Each agent has its own Service
// (see Agent), through which callers see only that agent's tasks.
func NewHost(st store.Store, agents []Hosted, o *Options) (*Engine, error) {
	if st == nil {
		panic("engine: NewHost needs a store")
	}
	return newEngine(st, agents, o, true)
}

func newEngine(st store.Store, agents []Hosted, o *Options, several bool) (*Engine, error) {
	o = o.filled()
	push := false
	for i := range agents {
		push = push || agents[i].Card != nil && is(agents[i].Card.Capabilities.PushNotifications)
	}
	push = (push || several) && o.Push != nil
	who, err := newRoster(agents, nil, push)
	if err != nil {
		return nil, err
	}
	read, cached := stored.New(st, o.Cache)
	measured := metrics.New(o.MeterProvider)
	e := &Engine{
		store:    cached,
		read:     read,
		opts:     o,
		log:      o.Logger,
		node:     stored.NewID(),
		health:   newStoreHealth(o.Logger),
		meters:   newMeters(measured, st),
		draining: make(chan struct{}),
		mailHint: make(chan struct{}, 1),
		sends:    sends{m: map[sendName]*sending{}},
		adding:   adding{m: map[store.Key][]*store.PushConfig{}},
		forwards: forwards{asked: map[string]chan *memoAnswer{}, heard: map[string]*request{}},
	}
	e.service.e = e
	if o.TracerProvider != nil {
		e.tracer = telemetry.Tracer(o.TracerProvider)
	}
	e.admission.Capacity, e.admission.TakeUp = o.Capacity, o.TakeUp
	e.admission.Counts, e.admission.Log = several, e.log
	e.admission.Waited = o.Capacity > 0 || o.DeadAfter > 0
	e.roster.Store(&who)
	e.topics = topic.New(cached, read, o.LongPoll, e.draining)
	e.topics.Wrote, e.topics.Recovered = e.wrote, e.health.ends
	e.topics.Lapsed = func() bool { return e.nodes.Lapsed() }
	if d := o.DeadAfter; d > 0 {
		e.peers = topic.NewPeers(e.topics, o.Poll, func(k store.Key) bool { return e.owners.OwnedLocked(k) })
		e.forwards.key = newNodeKey()
		e.node = e.forwards.key.name
		e.nodes = &place.Fleet{
			Node: e.node, Store: e.store, DeadAfter: d, Log: e.log,
			Verify: func(ctx context.Context, alive func() error) error { return e.owners.VerifyAll(ctx, alive) }, Beaten: func() { e.owners.Others() }, Wrote: e.wrote,
			Hear: []func(context.Context){e.watch, e.peers.Poll, e.mail},
		}
	} else {
		e.nodes = &place.Alone{Node: e.node, Store: e.store, Wrote: e.wrote}
	}
	if push {
		e.outbox = e.newOutbox()
	}
	e.owners = task.NewOwners(task.Needs{
		Store: cached, Read: read, Topics: e.topics, Node: e.node, Nodes: e.nodes, Admission: &e.admission, Outbox: e.outbox,
		Weights: o.newWork(), Log: e.log, Meters: task.NewRunMeters(measured), Tracer: e.tracer,
		TraceContent: o.TraceContent, CancelWait: o.CancelWait, StoreWait: o.StoreWait, MaxLost: o.MaxLost,
		Agent: e.agentOf, Draining: e.draining, Wrote: e.wrote, Healthy: e.health.wait,
	})
	e.owners.SetLimits(&o.Limits)
	return e, nil
}

// Register registers this process with the store, as Run does first. It fails if the store
// cannot be written. A program that announces that it is ready may call it before Run.
func (e *Engine) Register(ctx context.Context) error {
	if err := e.nodes.Register(ctx); err != nil {
		return fmt.Errorf("register with the store: %w", err)
	}
	return nil
}

// Run resumes what earlier processes left unfinished, a few tasks at a time
// (Options.TakeUp), serves until ctx ends, and then drains: new work is refused, streams
// end, agents are told to stop (agent.ErrDraining) and their tasks are left for the next
// Run, which does not count them as lost. It returns nil when all agents have stopped, or
// an error shortly after DrainWait; the tasks of agents that are still running then count
// as lost. Call it once.
//
// It fails at once if the store cannot be written at the start. A store that
// fails later does not end it: see Trouble.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.Register(ctx); err != nil && ctx.Err() == nil {
		e.drain()
		return err
	}
	defer e.meters.observe(e)()
	// These run until after the last append.
	var pulse sync.WaitGroup
	live, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	pulse.Go(func() { e.probe(live) })
	pulse.Go(func() { e.nodes.Attend(live) })
	pulse.Go(func() { e.owners.MakeWay(ctx) })
	e.begin(func() { e.owners.TakeUp(ctx) })
	e.begin(func() { e.retain(ctx) })
	if e.outbox != nil {
		e.begin(func() {
			e.outbox.Run(ctx)
			e.letters.Resign()
		})
	}
	<-ctx.Done()
	err := e.drain()

	left := make(chan error, 1)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), task.ByeWait)
	defer cancel()
	go func() {
		die()
		pulse.Wait() // a heartbeat would undo Bye
		left <- e.owners.Bye(bye, err == nil)
	}()
	select {
	case bad := <-left:
		if bad != nil && !errors.Is(bad, store.ErrClosed) {
			e.log.Warn("unfinished tasks could not be handed over; they count as lost", "error", bad)
		}
	case <-bye.Done():
		e.log.Warn("unfinished tasks could not be handed over in time; they count as lost")
	}
	return err
}

// Left returns how many tasks were at work when Run ended and resume with the next Run.
func (e *Engine) Left() int { return e.owners.DrainedRuns() }

// begin runs f in a goroutine that a drain waits for. It returns false if no new work may
// begin.
func (e *Engine) begin(f func()) bool {
	if !e.owners.Enter() {
		return false
	}
	go func() {
		defer e.owners.Done()
		f()
	}()
	return true
}

func (e *Engine) drain() error {
	e.owners.Refuse()
	close(e.draining)
	e.topics.WakeAll()
	e.owners.Stop()

	quiet := make(chan struct{})
	go func() {
		e.owners.Wait()
		e.dismissAll()
		close(quiet)
	}()
	select {
	case <-quiet:
		return nil
	case <-time.After(e.opts.DrainWait):
		closed := make(chan struct{})
		go func() {
			e.dismissAll() // closes the agents that do not run
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(task.ByeWait):
		}
		return errors.New("engine: agents did not stop in time; their tasks count as lost: the next start runs them again, or fails those that must not")
	}
}

func (e *Engine) stopping() bool { return wake.Closed(e.draining) }

// newWork returns the budget of the tasks at work.
func (o *Options) newWork() *budget.Budget {
	switch {
	case o.Work < 0:
		return nil
	case o.Work == 0:
		return budget.NewFine(o.Memory.Total()/4*3, task.SmallTask)
	}
	return budget.NewFine(o.Work, task.SmallTask)
}
