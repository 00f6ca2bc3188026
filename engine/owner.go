package engine

import (
	"context"
	"log/slog"
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
	lease     lease  // set before ready is closed
	ready     signal // given when loaded, or when loading failed (err)

	inbox inbox
	ctx   turnContext

	// owned by the goroutine that is in the loop
	loop      loop
	inflight  *flight
	launch    *launch     // for the first append of a task that begins here; then nil
	told      func(error) // puts the outcome of an append into the inbox
	entries   []sized     // empty, with room for what is published next
	stored    int64       // seq of the last committed entry
	epoch     int64       // as stored
	row       store.Row   // as of the newest flight
	cancelled bool        // a cancel request was committed
	wanted    bool        // the task waits, and wants a process nevertheless
	broken    error       // the store could not be written; what waiting callers get
	tries     int         // how often the task was loaded since something of it was committed

	mu        sync.Mutex // protects the fields below
	err       error      // why the owner is gone; callers pass it on
	gone      bool       // takes nothing any more
	exists    bool       // the task has come into being (its first entries are pending or stored)
	opening   []record   // what brings the task into being, while it does not exist
	draft     draft
	last      time.Time     // of the newest entry, so that times never go back
	ahead     []record      // in the append under way
	pending   []record      // emitted, not handed to the store
	spare     []record      // empty, with room for what is pending next
	bytes     int           // in pending
	bodies    []byte        // where the next body has its place, see encodeLocked
	room      bell          // rings when pending gets shorter
	running   bool          // the agent's Run is under way
	resting   bool          // it will be, after rest, when there is room
	starts    bool          // it will be, once the message that it is for is committed
	rest      time.Duration // set with resting
	slot      bool          // o has a slot of the taker
	yields    bool          // with its next append the task waits for a process that has room
	drawn     bool          // it waited for this one
	awaits    bool          // its agent is not there
	used      bool          // the agent ran or something was emitted: the next turn needs an owner of its own
	left      chan struct{} // if set, o leaves once the task's end is committed, without its agent; then it is closed
	next      *successor    // if set, the task begins anew with its end
	reply     *post         // if set, its answer is to be kept, see keep
	waiting   []*post       // not settled yet
	posts     [1]*post      // room for waiting, which seldom needs more
	begun     [1]*post      // and for turn.messages
	turn      turnState
	wake      bell  // rings when a message or the end comes
	canceling bool  // a cancel request is pending or stored
	asked     *post // the cancel request, if it came here
	holds     int   // callers that are about to act
	auth      authorization
	weight    int64 // of the log with all that is emitted, see weight

	seat     seat          // protected by Engine.room
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
	records []record
	pended  []record     // records, if nothing is behind them: the array can be used again
	sealed  *a2a.Task    // the task behind records, if they end it
	own     store.Append // where append points to at first
}

// launch is what the first append of a task needs besides, in one piece.
type launch struct {
	opening [2]record
	records [4]record
	flight  flight
	entries [4]store.Entry
}

// Limits of what an agent may emit ahead of the disk, and of one append, and of
// the room for records that is kept for the next one.
const (
	maxSpare        = 256
	maxPending      = 4096
	maxPendingBytes = 4 << 20
	maxFlight       = 1024
	maxFlightBytes  = 1 << 20
)

func (e *Engine) newOwner(key store.Key, contextID string) *owner {
	o := &owner{e: e, key: key, contextID: contextID, draft: newDraft()}
	o.inbox.hint = make(chan struct{}, 1)
	o.ctx.base = e.base
	return o
}

func (o *owner) log() *slog.Logger {
	if name, _ := AgentOf(o.key.Tenant); name != "" {
		return o.e.log.With("task", o.key.ID, "agent", name)
	}
	return o.e.log.With("task", o.key.ID)
}

// nudge tells the goroutine that there is something to do.
func (o *owner) nudge() { nudge(o.inbox.hint) }

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

// errOver is what those get who come to an owner that has left.
var errOver = errStopping()

// leave ends the ownership; whoever still waits is told.
func (o *owner) leave() {
	o.e.mu.Lock()
	if o.e.owners[o.key] == o {
		delete(o.e.owners, o.key)
	}
	o.mu.Lock()
	o.gone = true
	if o.err == nil {
		o.err = errOver
	}
	o.topic.release(o, o.broken) // first, so that who is told and looks again does not see what was here
	for _, p := range o.waiting {
		p.err = o.err
		p.settled.give()
	}
	o.waiting = nil
	for _, p := range o.turn.messages {
		p.decided()
	}
	o.vacateLocked()
	o.settleLocked()
	o.auth = authorization{}
	o.wake.ring()
	o.room.ring()
	left := o.left
	awaits := o.awaits && !o.draft.state.Terminal()
	o.mu.Unlock()
	o.e.leaveLocked(o.topic)
	o.e.mu.Unlock()
	if awaits {
		o.e.awaiting(o.key)
	}

	o.ctx.end(agent.ErrEnded)
	if left != nil {
		close(left)
	}
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

func (o *owner) pendLocked(r record) {
	o.used = true
	o.bytes += r.size()
	o.pending = append(o.pending, r)
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
	o.pendLocked(o.newRecordLocked(en))
	if o.draft.state.Terminal() {
		o.endLocked(&o.pending[len(o.pending)-1])
		o.wake.ring()
	}
	o.countLocked()
	if len(o.ahead) == 0 { // otherwise the goroutine looks again when that is committed
		o.nudge()
	}
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
		room := o.room.wait()
		o.mu.Unlock()
		select {
		case <-room:
		case <-o.ctx.Done():
			return context.Cause(&o.ctx)
		}
	}
}
