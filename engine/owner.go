package engine

import (
	"context"
	"log/slog"
	"runtime"
	"sync"

	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// owner is the one writer of a task in this process. It exists while the task
// is at work here: an agent runs, or something waits to be committed. Callers
// hand it messages and cancel requests, the agent hands it events; they change
// the draft under the lock, and the owner's goroutine takes what is pending to
// the store, one append at a time. So everything that gathers while an append
// is under way becomes the next one.
type owner struct {
	// set at start, then constant
	e         *Engine
	key       store.Key
	contextID string
	taskOnly  bool // a direct answer makes a task
	topic     *topic
	lease     lease         // set before ready is closed
	ready     chan struct{} // closed when loaded, or when loading failed (err)

	hint      chan struct{} // capacity one: there is something to do
	committed chan error    // capacity one: the outcome of the append under way
	finished  chan error    // capacity one: what the agent's Run returned
	cancel    context.CancelCauseFunc
	ctx       context.Context // of the turn

	// owned by the goroutine
	inflight  *flight
	stored    int64     // seq of the last committed entry
	epoch     int64     // as stored
	row       store.Row // as of the newest flight
	cancelled bool      // a cancel request was committed
	wanted    bool      // the task waits, and wants a process nevertheless
	broken    error     // the store could not be written; what waiting callers get
	tries     int       // how often the task was loaded since something of it was committed

	mu        sync.Mutex // protects the fields below
	err       error      // why the owner is gone; callers pass it on
	gone      bool       // takes nothing any more
	exists    bool       // the task has come into being (its first entries are pending or stored)
	opening   []*record  // what brings the task into being, while it does not exist
	draft     draft
	last      time.Time      // of the newest entry, so that times never go back
	ahead     []*record      // in the append under way
	pending   []*record      // emitted, not handed to the store
	bytes     int            // in pending
	room      chan struct{}  // closed and replaced when pending gets shorter
	running   bool           // the agent's Run is under way
	resting   bool           // it will be, after rest
	rest      time.Duration  // set with resting
	slot      bool           // o has a slot of the taker
	used      bool           // the agent ran or something was emitted: the next turn needs an owner of its own
	left      chan struct{}  // if set, o leaves once the task's end is committed, without its agent; then it is closed
	next      *successor     // if set, the task begins anew with its end
	reply     *post          // if set, its answer is to be kept, see keep
	waiting   map[*post]bool // not settled yet
	turn      turnState
	wake      chan struct{} // closed and replaced when a message or the end comes
	canceling bool          // a cancel request is pending or stored
	asked     *post         // the cancel request, if it came here
	holds     int           // callers that are about to act
	auth      authorization
	weight    int64 // of the log with all that is emitted, see weight

	works    bool          // the task is at work: see countLocked
	counted  bool          // in the tally
	reserved bool          // and to stay there
	since    time.Time     // when works became what it is
	worked   time.Duration // before since
	timedOut bool          // it was at work for too long
}

// turnState is what a turn consumes, in the log's order. A run after a crash
// goes through the same records again.
type turnState struct {
	messages []*post // the first one began the turn
	taken    int     // how many of messages the agent has got
	canceled int     // how many of messages had come when somebody asked to cancel
	steps    []*a2a.Step
	step     int // next step of this run
	attempt  int32
	lost     int32 // processes lost since the turn began or a question was answered
}

// flight is an append under way.
type flight struct {
	append  *store.Append
	records []*record
}

// Limits of what an agent may emit ahead of the disk, and of one append.
const (
	maxPending      = 4096
	maxPendingBytes = 4 << 20
	maxFlight       = 1024
	maxFlightBytes  = 1 << 20
)

func (e *Engine) newOwner(key store.Key, contextID string) *owner {
	o := &owner{
		e:         e,
		key:       key,
		contextID: contextID,
		ready:     make(chan struct{}),
		hint:      make(chan struct{}, 1),
		committed: make(chan error, 1),
		finished:  make(chan error, 1),
		draft:     newDraft(),
		room:      make(chan struct{}),
		wake:      make(chan struct{}),
		waiting:   map[*post]bool{},
	}
	o.ctx, o.cancel = context.WithCancelCause(e.base)
	return o
}

func (o *owner) log() *slog.Logger { return o.e.log.With("task", o.key.ID) }

// nudge tells the goroutine that there is something to do.
func (o *owner) nudge() { nudge(o.hint) }

// run is the owner's goroutine. create, if positive, is when the task comes
// into being at the latest.
func (o *owner) run(create time.Duration) {
	defer o.e.work.Done()
	defer o.leave()

	var createTimer, cancelTimer *time.Timer
	var createDue, cancelDue, restDue <-chan time.Time
	var drained <-chan struct{}
	wall := wallClock{o: o}
	defer wall.stop()
	rest := o.restTimer()
	if rest != nil {
		defer rest.Stop()
		restDue, drained = rest.C, o.ctx.Done()
	}
	if create > 0 {
		createTimer = time.NewTimer(create)
		createDue = createTimer.C
		defer createTimer.Stop()
	}
	for !o.quiet() {
		wall.set()
		select {
		case <-o.hint:
			o.gather()
		case <-createDue:
			o.mu.Lock()
			if o.running { // otherwise it has answered already
				o.createLocked()
			}
			o.mu.Unlock()
		case err := <-o.finished:
			o.conclude(err)
		case err := <-o.committed:
			if !o.settle(err) {
				return
			}
			if cancelTimer == nil && o.cancelled {
				// Committed first, then the agent hears of it.
				o.cancel(agent.ErrCanceled)
				cancelTimer = time.NewTimer(o.e.opts.cancelWait())
				cancelDue = cancelTimer.C
				defer cancelTimer.Stop()
			}
		case <-cancelDue:
			o.abandon()
		case <-wall.due:
			wall.strike()
		case <-wall.over:
			o.overrun()
		case <-restDue:
			restDue = nil
		case <-drained:
			drained = nil
		}
		if rest != nil {
			o.endRest(restDue == nil)
		}
		o.flush()
	}
}

// gather lets an agent that is about to finish do so, before its first words
// go to the disk: then the whole of a quick task is one commit. It yields a
// few times, a microsecond or so, and never waits.
func (o *owner) gather() {
	for range 8 {
		runtime.Gosched()
		select {
		case err := <-o.finished:
			o.conclude(err)
			return
		default:
		}
	}
}

// quiet reports whether nothing is left to do, and if so takes the owner out
// of the engine, so that the next caller loads the task anew.
func (o *owner) quiet() bool {
	if o.inflight != nil {
		return false
	}
	o.mu.Lock()
	busy := o.busyLocked()
	o.mu.Unlock()
	if busy {
		return false // the common case, without the engine's lock
	}
	o.e.mu.Lock()
	defer o.e.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busyLocked() {
		return false
	}
	o.gone = true
	if o.e.owners[o.key] == o {
		delete(o.e.owners, o.key)
		if o.next != nil && !o.e.drained {
			o.succeedLocked()
		}
	}
	return true
}

func (o *owner) busyLocked() bool {
	running := o.running && !(o.left != nil && o.draft.state.Terminal())
	return running || o.resting || o.holds > 0 || len(o.pending) > 0 || o.reply != nil
}

// leave ends the ownership; whoever still waits is told.
func (o *owner) leave() {
	o.e.mu.Lock()
	if o.e.owners[o.key] == o {
		delete(o.e.owners, o.key)
	}
	o.mu.Lock()
	o.gone = true
	if o.err == nil {
		o.err = errStopping()
	}
	o.topic.release(o, o.broken) // first, so that who is told and looks again does not see what was here
	for p := range o.waiting {
		p.err = o.err
		close(p.settled)
	}
	o.waiting = nil
	o.vacateLocked()
	o.settleLocked()
	o.auth = authorization{}
	o.wakeLocked()
	close(o.room)
	o.room = make(chan struct{})
	o.mu.Unlock()
	o.e.mu.Unlock()

	o.cancel(agent.ErrEnded)
	o.e.leave(o.topic)
	o.mu.Lock()
	left := o.left
	o.mu.Unlock()
	if left != nil {
		close(left)
	}
}

func (o *owner) wakeLocked() {
	close(o.wake)
	o.wake = make(chan struct{})
}

// createLocked brings the task into being: its opening entries are pending.
func (o *owner) createLocked() {
	if o.exists || o.opening == nil { // nil: answered without a task
		return
	}
	o.exists = true
	for _, r := range o.opening {
		o.pendLocked(r)
	}
	o.opening = nil
	o.nudge()
}

func (o *owner) pendLocked(r *record) {
	o.used = true
	o.pending = append(o.pending, r)
	o.bytes += r.size()
}

// emitLocked puts an entry behind what is pending, if the rules allow it.
func (o *owner) emitLocked(en *a2a.Entry) error {
	if o.gone {
		return agent.ErrEnded
	}
	if err := o.draft.follow(en); err != nil {
		if err == errTerminal {
			return agent.ErrEnded
		}
		return err
	}
	o.createLocked()
	r := o.newRecordLocked(en)
	o.pendLocked(r)
	if o.draft.state.Terminal() {
		o.endLocked(r)
		o.wakeLocked()
	}
	o.countLocked()
	o.nudge()
	return nil
}

// emit is sayLocked for events of any size: it waits while too much is ahead of the disk.
func (o *owner) emit(en *a2a.Entry) error {
	for {
		o.mu.Lock()
		if o.gone || o.draft.state.Terminal() || (len(o.pending) < maxPending && o.bytes < maxPendingBytes) {
			err := o.sayLocked(en)
			o.mu.Unlock()
			return err
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-o.ctx.Done():
			return context.Cause(o.ctx)
		}
	}
}
