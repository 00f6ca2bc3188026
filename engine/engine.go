package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/outbox"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/internal/budget"
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
	// The tasks of those that take longer count as lost.
	DrainWait time.Duration
	// StoreWait is how long a failing store is tried again before a task's
	// agent is told to stop, to be run again when the store works. Zero means
	// 30 s.
	StoreWait time.Duration
	// MaxLost is how many processes may be lost before a task fails, counted
	// since it began or since its client last answered a question, if its agent
	// does not say (agent.OnLost). Zero means 3.
	MaxLost int
	// TakeUp is how many tasks of processes that are gone are begun again at a
	// time: one counts until its agent has said something, for 250 ms at most.
	// Zero means 256.
	TakeUp int
	// Capacity is how many tasks may be at work here at a time, without those that
	// wait for their client. What comes beyond it waits in the store until this
	// process or another one has room: a new task is submitted meanwhile, and a
	// direct answer then is a completed task. Only an agent that gets an
	// authorization, which no other process may have, goes on in any case.
	// Zero means that all begin at once.
	//
	// An agent that waits for another task keeps its place. If the agent of that one
	// needs a place of the same server, and all are kept by such as wait, none of
	// them ever goes on: then give those that are waited for a server of their own, or
	// both a limit in time (Limits.Wall).
	Capacity int
	// DeadAfter is how long another process may be silent before its tasks are
	// taken over; it must be the same in all of them. Zero means that the store is
	// this process's alone: then all others are gone.
	DeadAfter time.Duration
	// Poll is how often the store is asked, with DeadAfter, for all tasks together
	// that are read here and at work in other processes, in case a hint was lost.
	// Zero means 1 s.
	Poll time.Duration
	// Retries says when a message that comes again is known.
	Retries Retries
	// LongPoll is how long GetTask with CurrentGeneration waits for news. Zero
	// means 30 s.
	LongPoll time.Duration
	// Retention deletes tasks that have not changed for long. The zero value
	// keeps all.
	Retention Retention
	// Limits bound what tasks may take.
	Limits Limits
	// Cache is how many bytes finished tasks may take that are kept in memory, to
	// be read without the store; until the garbage collector comes round the process
	// may have as much again. Zero means 64 MiB, less than zero none. It is for a
	// store that is this process's alone: with DeadAfter there is none, for others
	// may delete what is in it.
	Cache int64
	// Memory is what large data takes together on its way to clients and receivers:
	// operations take of it before they read what they answer, through the hold in
	// their context (budget.From), and deliveries of webhooks by themselves. Nil:
	// there is no limit.
	Memory *budget.Budget
	// Work is how many bytes large tasks may take together that are in memory: those
	// at work, and those whose agents wait for their clients, which leave memory
	// where others need it, oldest and largest first. Only tasks of more than 16 KiB
	// count, with what their logs hold; those of one caller may have a quarter of it,
	// or one task that is larger than that. A message for which there is no room
	// waits, and is refused as Unavailable after 30 s; what agents say is not held up.
	// Zero means three quarters of Memory's bytes, or no limit without Memory; less
	// than zero means no limit.
	Work int64
	// Push delivers notifications. Nil: there are none, and the operations on
	// their configurations answer PushNotificationNotSupported, as they do when
	// the card does not have the capability.
	Push a2a.Notifier
	// ExtendedCard returns what GetExtendedAgentCard answers to a caller, which
	// must not be changed afterwards; nil where there is none for it. Nil: none
	// configured.
	ExtendedCard func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
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

func (o *Options) capacity() int {
	if o == nil {
		return 0
	}
	return o.Capacity
}

func (o *Options) deadAfter() time.Duration {
	if o == nil {
		return 0
	}
	return o.DeadAfter
}

func (o *Options) poll() time.Duration {
	if o == nil || o.Poll == 0 {
		return time.Second
	}
	return o.Poll
}

func (o *Options) cache() *cache {
	if o == nil {
		return newCache(0)
	}
	if o.DeadAfter != 0 {
		return nil
	}
	return newCache(o.Cache)
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

// Engine is an a2a.Service over an agent and a store, or several over one store:
// see NewHost.
type Engine struct {
	service // of the agent without a name

	// set by New, then constant
	store store.Store
	cache *cache // of finished tasks; nil without
	opts  *Options
	log   *slog.Logger
	node  string // names this process in the store
	nodes place.Place

	taker   *taker
	tally   *tally
	room    *room
	health  *storeHealth
	crowd   crowd
	weights *budget.Budget // of the tasks at work; nil without
	parked  parked

	replacing sync.Mutex // held by Replace
	roster    atomic.Pointer[roster]
	limits    atomic.Pointer[Limits]

	base     context.Context // of every turn
	stop     context.CancelCauseFunc
	draining chan struct{} // closed when Run ends

	left atomic.Int64 // runs that ended because the engine drained, but for those that wait for a client

	work sync.WaitGroup // owners, runs of the agent, and what begins either

	mu      sync.Mutex // protects the fields below
	topics  map[store.Key]*topic
	owners  map[store.Key]*owner
	drained bool              // no new work
	hashes  map[uint64]*topic // topics by hash, if the store is shared
	doubts  []*topic          // whose owner may have lost its task

	doubted chan struct{} // capacity one: there are doubts

	tokenKey lazyKey
	letters  *place.Duty    // of sending dead letters again
	outbox   *outbox.Outbox // nil without push notifications
	sends    sends
	mailHint chan struct{} // capacity one: there may be mail for this process
	passes   passings
}

var _ a2a.Service = (*Engine)(nil)

// New joins an agent and a store. card says what is enforced: capabilities,
// input modes, required extensions. It starts nothing; Run has to be called
// for tasks of earlier processes to be taken up and for a clean end, with which an
// agent that is an io.Closer is closed.
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
		panic(err) // there is nothing wrong with one
	}
	return e
}

// NewHost is New for any number of agents, which may be replaced. All have one
// store and share what Options bound; Options.ExtendedCard is for New alone. A
// caller sees the tasks of one agent only by its Service: see Agent.
func NewHost(st store.Store, agents []Hosted, o *Options) (*Engine, error) {
	if st == nil {
		panic("engine: NewHost needs a store")
	}
	return newEngine(st, agents, o, true)
}

func newEngine(st store.Store, agents []Hosted, o *Options, several bool) (*Engine, error) {
	push := false
	for i := range agents {
		push = push || agents[i].Card != nil && is(agents[i].Card.Capabilities.PushNotifications)
	}
	push = (push || several) && o != nil && o.Push != nil
	who, err := newRoster(agents, &roster{}, push)
	if err != nil {
		return nil, err
	}
	base, stop := context.WithCancelCause(context.Background())
	kept := o.cache()
	e := &Engine{
		store:    kept.over(st),
		cache:    kept,
		opts:     o,
		log:      o.logger(),
		node:     newID(),
		base:     base,
		stop:     stop,
		taker:    newTaker(o.takeUp()),
		room:     newRoom(o),
		health:   newStoreHealth(o.logger()),
		weights:  o.newWork(),
		draining: make(chan struct{}),
		topics:   map[store.Key]*topic{},
		owners:   map[store.Key]*owner{},
		mailHint: make(chan struct{}, 1),
		hashes:   map[uint64]*topic{},
		doubted:  make(chan struct{}, 1),
	}
	e.service.e = e
	e.parked.most, e.parked.hint = maxParked, make(chan struct{}, 1)
	limits := *o.limits()
	e.limits.Store(&limits)
	e.tally = newTally(&e.limits, several)
	e.roster.Store(who)
	if d := o.deadAfter(); d > 0 {
		e.passes.key = newNodeKey()
		e.node = e.passes.key.name
		e.nodes = &place.Fleet{
			Node: e.node, Store: e.store, DeadAfter: d, Log: e.log,
			Verify: e.verifyAll, Beaten: e.taker.others, Wrote: e.wrote,
		}
	} else {
		e.nodes = &place.Alone{Node: e.node, Store: e.store, Wrote: e.wrote}
	}
	if push {
		e.outbox = e.newOutbox()
	}
	return e, nil
}

// Run takes up what earlier processes left unfinished, bit by bit
// (Options.TakeUp), serves until ctx ends, and then drains: new work is refused,
// streams end, agents are told to stop (agent.ErrDraining) and their tasks are
// left for the next Run, which does not count them as lost. It returns when all
// is quiet or shortly after DrainWait; then it returns an error, and the tasks of
// agents that go on count as lost. It may be called once.
//
// It fails at once if the store cannot be written at the start. A store that
// fails later does not end it: see Trouble.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.nodes.Register(ctx); err != nil && ctx.Err() == nil {
		e.drain()
		return fmt.Errorf("register with the store: %w", err)
	}
	// These go on until the last append.
	var pulse sync.WaitGroup
	live, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	pulse.Go(func() { e.probe(live) })
	pulse.Go(func() { e.nodes.Beat(live) })
	if e.nodes.Shared() {
		pulse.Go(func() { e.watch(live) })
		pulse.Go(func() { e.pollFar(live) })
		pulse.Go(func() { e.mail(live) })
	}
	pulse.Go(func() { e.makeWay(ctx) })
	e.work.Go(func() { e.takeUp(ctx) })
	e.work.Go(func() { e.retain(ctx) })
	if e.outbox != nil {
		e.work.Go(func() { e.runOutbox(ctx) })
	}
	<-ctx.Done()
	err := e.drain()

	left := make(chan error, 1)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeWait)
	defer cancel()
	go func() {
		die()
		pulse.Wait() // a beat would take the farewell back
		left <- e.bye(bye, err == nil)
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

// Left returns how many tasks were at work when Run ended and go on with the next
// Run.
func (e *Engine) Left() int { return int(e.left.Load()) }

func (e *Engine) drain() error {
	e.mu.Lock()
	e.drained = true
	e.mu.Unlock()
	close(e.draining)
	e.wakeAll()
	e.stop(agent.ErrDraining)

	quiet := make(chan struct{})
	go func() {
		e.work.Wait()
		e.dismissAll()
		close(quiet)
	}()
	wait := time.NewTimer(e.opts.drainWait())
	defer wait.Stop()
	select {
	case <-quiet:
		return nil
	case <-wait.C:
		closed := make(chan struct{})
		go func() {
			e.dismissAll() // of those who do not run
			close(closed)
		}()
		wait.Reset(byeWait)
		select {
		case <-closed:
		case <-wait.C:
		}
		return errors.New("engine: agents did not stop in time; their tasks count as lost and run again at the next start")
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
// under a call means that the server stops. One that is out of reach may be back
// soon.
func failed(err error, what string) error {
	if errors.Is(err, store.ErrClosed) {
		return errStopping()
	}
	err = fmt.Errorf("%s: %w", what, err)
	if errors.Is(err, store.ErrUnreachable) && !errors.Is(err, a2a.ErrUnavailable) {
		return &a2a.Error{
			Code:    a2a.CodeUnavailable,
			Message: "the database cannot be reached at the moment; try again shortly",
			Cause:   err,
		}
	}
	return err
}

// nudge gives a hint: that there is something to do, in a channel of capacity
// one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// newID returns an id for a task, a context or a message. It begins with the
// time, to the microsecond (UUIDv7), and ids of one process only ever grow: keys
// that are made together are then beside each other in each index of a store, and
// a commit writes a few pages rather than one per index and task. Where there
// are no identities an id is all that protects a task, so the rest of it is 62
// bits that nobody can guess.
func newID() string {
	at := uint64(time.Now().UnixNano())
	at = at/1e6<<12 | at%1e6>>8 // milliseconds, and the rest of the time in 12 bits
	for {
		last := lastID.Load()
		next := max(at, last+1) // also if the clock goes back
		if lastID.CompareAndSwap(last, next) {
			at = next
			break
		}
	}
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], at>>12<<16|7<<12|at&0xfff)
	rand.Read(id[8:]) // which does not fail
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// lastID is the time in the newest id.
var lastID atomic.Uint64

// lazyKey is the key of page tokens, read from the store on first use.
type lazyKey struct {
	mu  sync.Mutex
	key []byte
}

func (l *lazyKey) get(ctx context.Context, st store.Vault) ([]byte, error) {
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
