package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Options adjusts an Engine. A nil *Options means all defaults.
type Options struct {
	// Logger gets what operators should know: failed runs, store trouble,
	// take-overs. Nil discards.
	Logger *slog.Logger
	// CreateAfter is how long an agent may think before its task comes into
	// being; a direct answer within that time leaves no task. Zero means
	// 100 ms. With ReturnImmediately a tenth of it counts.
	CreateAfter time.Duration
	// CancelWait is how long an agent may go on after its task was cancelled
	// before the task is canceled without it. Zero means 2 s.
	CancelWait time.Duration
	// DrainWait is how long Run waits for agents when it ends. Zero means 10 s.
	DrainWait time.Duration
	// StoreWait is how long a failing store is tried again before a task is
	// left for the next start. Zero means 30 s.
	StoreWait time.Duration
	// MaxLost is how many processes may be lost before a task fails, counted
	// since it began or since its client last answered a question, if its agent
	// does not say (agent.OnLost). Zero means 3.
	MaxLost int
	// TakeUp is how many tasks of processes that are gone run again at a time.
	// Zero means 256.
	TakeUp int
	// DeadAfter is how long another process may be silent before its tasks are
	// taken over. Zero means that the store is this process's alone: then all
	// others are gone.
	DeadAfter time.Duration
	// Retries says when a message that comes again is known.
	Retries Retries
	// LongPoll is how long GetTask with CurrentGeneration waits for news. Zero
	// means 30 s.
	LongPoll time.Duration
	// Retention deletes tasks that have not changed for long. The zero value
	// keeps all.
	Retention Retention
	// ExtendedCard is what GetExtendedAgentCard answers. Nil: none configured.
	ExtendedCard *a2a.AgentCard
}

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o *Options) createAfter() time.Duration {
	if o == nil || o.CreateAfter == 0 {
		return 100 * time.Millisecond
	}
	return o.CreateAfter
}

func (o *Options) cancelWait() time.Duration {
	if o == nil || o.CancelWait == 0 {
		return 2 * time.Second
	}
	return o.CancelWait
}

func (o *Options) drainWait() time.Duration {
	if o == nil || o.DrainWait == 0 {
		return 10 * time.Second
	}
	return o.DrainWait
}

func (o *Options) storeWait() time.Duration {
	if o == nil || o.StoreWait == 0 {
		return 30 * time.Second
	}
	return o.StoreWait
}

func (o *Options) maxLost() int32 {
	if o == nil || o.MaxLost == 0 {
		return 3
	}
	return int32(o.MaxLost)
}

func (o *Options) takeUp() int {
	if o == nil || o.TakeUp == 0 {
		return 256
	}
	return o.TakeUp
}

func (o *Options) deadAfter() time.Duration {
	if o == nil {
		return 0
	}
	return o.DeadAfter
}

func (o *Options) retries() *Retries {
	if o == nil {
		return &Retries{}
	}
	return &o.Retries
}

func (o *Options) longPoll() time.Duration {
	if o == nil || o.LongPoll == 0 {
		return 30 * time.Second
	}
	return o.LongPoll
}

func (o *Options) retention() *Retention {
	if o == nil {
		return &Retention{}
	}
	return &o.Retention
}

func (o *Options) extendedCard() *a2a.AgentCard {
	if o == nil {
		return nil
	}
	return o.ExtendedCard
}

// Engine is an a2a.Service over an agent and a store.
type Engine struct {
	// set by New, then constant
	store store.Store
	agent agent.Agent
	gate  gate
	opts  *Options
	log   *slog.Logger
	node  string // names this process in the store

	base     context.Context // of every turn
	stop     context.CancelCauseFunc
	claimed  chan struct{} // closed when Run has taken up what others left
	draining chan struct{} // closed when Run ends

	work sync.WaitGroup // owners and runs of the agent

	mu      sync.Mutex // protects the fields below
	topics  map[store.Key]*topic
	owners  map[store.Key]*owner
	drained bool // no new work

	tokenKey lazyKey
	sends    sends
}

var _ a2a.Service = (*Engine)(nil)

// New joins an agent and a store. card says what is enforced: capabilities,
// input modes, required extensions. It starts nothing; Run has to be called
// for tasks of earlier processes to be taken up and for a clean end. Messages
// and cancel requests for stored tasks wait until it has taken them up.
func New(st store.Store, ag agent.Agent, card *a2a.AgentCard, o *Options) *Engine {
	if st == nil || ag == nil || card == nil {
		panic("engine: New needs a store, an agent and a card")
	}
	base, stop := context.WithCancelCause(context.Background())
	return &Engine{
		store:    st,
		agent:    ag,
		gate:     newGate(card),
		opts:     o,
		log:      o.logger(),
		node:     newID(),
		base:     base,
		stop:     stop,
		claimed:  make(chan struct{}),
		draining: make(chan struct{}),
		topics:   map[store.Key]*topic{},
		owners:   map[store.Key]*owner{},
	}
}

// Run takes up what earlier processes left unfinished, serves until ctx ends,
// and then drains: new work is refused, streams end, agents are told to stop
// (agent.ErrDraining) and their tasks are left for the next Run. It returns
// when all is quiet or DrainWait is over, and may be called once.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.recover(ctx); err != nil && ctx.Err() == nil {
		e.drain()
		return fmt.Errorf("take up unfinished tasks: %w", err)
	}
	e.work.Go(func() { e.retain(ctx) })
	<-ctx.Done()
	return e.drain()
}

func (e *Engine) drain() error {
	e.mu.Lock()
	e.drained = true
	e.mu.Unlock()
	close(e.draining)
	e.stop(agent.ErrDraining)

	quiet := make(chan struct{})
	go func() {
		e.work.Wait()
		close(quiet)
	}()
	wait := time.NewTimer(e.opts.drainWait())
	defer wait.Stop()
	select {
	case <-quiet:
		return nil
	case <-wait.C:
		return errors.New("engine: agents did not stop in time; their tasks run again at the next start")
	}
}

// errStopping is what callers get while the engine drains.
func errStopping() error {
	return a2a.Errorf(a2a.CodeUnavailable, "the server is stopping; try again shortly")
}

func (e *Engine) stopping() bool {
	select {
	case <-e.draining:
		return true
	default:
		return false
	}
}

// failed wraps a store's error with what was tried; a store that was closed
// under a call means that the server stops.
func failed(err error, what string) error {
	if errors.Is(err, store.ErrClosed) {
		return errStopping()
	}
	return fmt.Errorf("%s: %w", what, err)
}

// scope returns the part of the store that a call may see: everything it
// touches is looked up under this tenant and owner.
func scope(ctx context.Context, tenant string) store.Key {
	c := a2a.CallerFrom(ctx)
	if c.Tenant != "" {
		// The credentials' tenant stands, whatever the request says.
		tenant = c.Tenant
	}
	return store.Key{Tenant: tenant, Owner: c.Subject}
}

func newID() string { return uuid.NewString() }

// now is the time as entries carry it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// lazyKey is the key of page tokens, read from the store on first use.
type lazyKey struct {
	mu  sync.Mutex
	key []byte
}

func (l *lazyKey) get(ctx context.Context, st store.Store) ([]byte, error) {
	l.mu.Lock()
	key := l.key
	l.mu.Unlock()
	if key != nil {
		return key, nil
	}
	key, err := st.Secret(ctx, "page-token") // twice at worst, with the same answer
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.key = key
	l.mu.Unlock()
	return key, nil
}
