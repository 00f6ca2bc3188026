package task

import (
	"context"
	"log/slog"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Owner is the only writer of a task in this process. It exists while the task is at work here:
// while an agent runs or something waits to be committed. Callers hand it messages and cancel
// requests, and the agent hands it events; both change the draft under the lock. The owner's
// goroutine hands pending entries to the store, one append at a time: all that gather during an
// append go into the next one.
type Owner struct {
	// set at start, then constant
	all       *Owners
	key       store.Key
	contextID string
	topic     *topic.Topic
	lease     lease       // set before ready is closed
	ready     wake.Signal // given when the task is loaded, or loading failed (err)

	inbox inbox
	ctx   turnContext

	// owned by the goroutine that is in the loop
	loop     loop
	inflight *flight
	saved    saved
	reuse    struct {
		told    func(error)   // puts the outcome of an append into the inbox
		entries []topic.Entry // empty; its array is reused for what is published next
	}
	broken error // set if the store could not be written: the error that readers get

	mu         ownerMutex // protects the fields below
	err        error      // why the ownership is over; passed on to callers
	phase      phase      // set by enterLocked
	draft      draft
	out        output
	reply      *Post // if set, the message whose direct answer is to be stored, see keep
	turn       turnState
	begun      [1]*Post  // the first array of turn.messages, which is seldom outgrown
	wake       wake.Bell // rings when a message arrives or the task ends
	auth       authorization
	holds      int // callers that are about to act
	succession succession
	mem        footprint
	adm        admission
	tracing    tracing
	parking    parking
}

// output holds the entries of a task that are not stored yet.
type output struct {
	exists  bool      // the task has come into being: its first entries are pending or stored
	always  bool      // the task comes into being even if the agent replies directly
	opening []record  // the first entries, while the task does not exist
	used    bool      // the agent ran or something was emitted: the next turn needs a new owner
	ahead   []record  // in the append under way
	pending []record  // emitted, not handed to the store
	bytes   int       // in pending
	room    wake.Bell // rings when pending gets shorter
	last    time.Time // of the newest entry, so that times never go back
	spare   []record  // empty; its array is reused for pending
	bodies  []byte    // the array for the next bodies, see encodeLocked
}

// unstored returns all of the entries, oldest first.
func (o *output) unstored() [3][]record { return [...][]record{o.opening, o.ahead, o.pending} }

// turnState is the input of a turn, in the log's order. A run after a crash gets the same input
// again.
type turnState struct {
	messages []*Post // the first one began the turn
	taken    int     // how many of messages the agent has received
	canceled int     // how many messages there were when cancellation was requested
	steps    steps
	account  *account // of the newest run; nil if its client did not ask for one
	attempt  int32
	lost     int32 // processes lost since the turn began or a question was answered

	canceling *Post // the cancel request that is pending or stored; nil: there is none
}

// turnContext is the context of the agent's Run. It ends with a cause, at the latest when the
// owner leaves.
type turnContext struct {
	context.Context
	end context.CancelCauseFunc
}

// flight is an append under way.
type flight struct {
	append  store.Append
	records []record
	news    bool                    // the append creates the task or changes its state
	anew    bool                    // the append reopens a finished task, whose webhooks go on
	ended   []store.PushConfig      // the webhooks that go on, see revivePushes
	pended  []record                // records, if nothing else was pending: the array can be reused
	sealed  *a2a.Task               // the task after records, if they end it
	size    int                     // of records, in bytes
	few     [fewRecords]store.Entry // the array for the append's entries, if they fit
}

// fewRecords is how many records a quick task has.
const fewRecords = 4

// Limits of what an agent may emit ahead of the disk (maxPending), of one append (MaxFlight),
// and of the array of records that is kept for reuse (maxSpare).
const (
	maxSpare        = 256
	maxPending      = 4096
	maxPendingBytes = 4 << 20
	MaxFlight       = 1024
	MaxFlightBytes  = 1 << 20
)

func (os *Owners) newOwner(key store.Key, contextID string) *Owner {
	o := &Owner{all: os, key: key, contextID: contextID, draft: newDraft()}
	o.mu.o = o
	o.inbox.hint = make(chan struct{}, 1)
	o.adm.ticket.Hint = o.inbox.hint
	o.ctx.Context, o.ctx.end = context.WithCancelCause(os.base)
	os.Weights.Init(&o.mem.hold, o)
	return o
}

func (o *Owner) log() *slog.Logger {
	about := append(make([]any, 0, 14), "task", o.key.ID, "context", o.contextID, "node", o.all.Node)
	if n := o.tracing.attempt.Load(); n > 0 {
		about = append(about, "attempt", n)
	}
	if name, _ := AgentOf(o.key.Tenant); name != "" {
		about = append(about, "agent", name)
	}
	if o.key.Owner != "" {
		about = append(about, "caller", o.key.Owner)
	}
	if run := o.tracing.newest.Load(); run != nil && *run != "" {
		about = append(about, "trace_id", telemetry.TraceID(*run))
	}
	return o.all.Log.With(about...)
}

// nudge tells the goroutine in the loop that there is something to do.
func (o *Owner) nudge() { wake.Nudge(o.inbox.hint) }

// quiet reports whether the owner has nothing left to do. If so, it also removes the owner, so
// that the next caller loads the task anew.
func (o *Owner) quiet() bool {
	if o.inflight != nil {
		return false
	}
	o.mu.Lock()
	busy := o.busyLocked()
	o.mu.Unlock()
	if busy {
		return false // the common case, without the lock of the topics
	}
	o.all.Topics.Lock()
	defer o.all.Topics.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busyLocked() {
		return false
	}
	o.closeLocked()
	if o.all.m[o.key] == o {
		delete(o.all.m, o.key)
		if o.succession.next != nil && !o.all.drained {
			o.succeedLocked()
		}
	}
	return true
}

func (o *Owner) busyLocked() bool {
	switch o.phase {
	case phaseStarting, phaseResting, phaseRunning:
		return true
	case phaseEnding:
		if o.succession.left == nil {
			return true
		}
	}
	return o.holds > 0 || len(o.out.pending) > 0 || o.reply != nil
}

// errOver is the error for callers that reach an owner after it has left.
var errOver = stored.Stopping()

// leave ends the ownership and tells all that still wait.
func (o *Owner) leave() {
	o.all.Topics.Lock()
	o.mu.Lock()
	if o.err == nil {
		o.err = errOver
	}
	o.dismissLocked(agent.ErrEnded, o.broken) // first, so that callers that are told and look again do not find this owner
	for _, records := range o.out.unstored() {
		refuse(records, o.err)
	}
	if p := o.reply; p != nil {
		p.Err = o.err
		p.Settled.Give()
	}
	for _, p := range o.turn.messages {
		p.decided()
	}
	for _, p := range o.auth.over() {
		p.decided()
	}
	tellMissed(o.out.pending, false)
	o.vacateLocked()
	o.out.room.Ring()
	left := o.succession.left
	o.mu.Unlock()
	o.all.Topics.LeaveLocked(o.topic)
	o.all.Topics.Unlock()
	o.all.parked.drop(o)
	if left != nil {
		close(left)
	}
}

// refuse tells senders that their records are not stored by this owner.
func refuse(records []record, why error) {
	for i := range records {
		if p := records[i].post; p != nil && !p.Settled.Was() {
			p.Err = why
			p.Settled.Give()
		}
	}
}

// dismissLocked ends the ownership for everyone but o's loop, which leaves next. The agent is
// told why; its return is not waited for. Readers turn to the store or, if lost is not nil, end
// with that error. The caller holds the lock of the topics, too.
func (o *Owner) dismissLocked(why, lost error) {
	if o.all.m[o.key] == o {
		delete(o.all.m, o.key)
	}
	o.closeLocked()
	o.mem.hold.Close()
	o.topic.Release(o, lost)
	o.ctx.end(why)
	o.wake.Ring()
	o.nudge()
}

// createLocked brings the task into being: its opening entries are pending.
func (o *Owner) createLocked() {
	if o.out.exists || o.out.opening == nil { // nil: answered without a task
		return
	}
	o.out.exists = true
	for i := range o.out.opening {
		o.out.bytes += o.out.opening[i].size()
	}
	o.out.pending, o.out.opening, o.out.used = o.out.opening, nil, true
	o.nudge()
}

func (o *Owner) pendLocked(r record) {
	o.out.used = true
	o.out.bytes += r.size()
	o.out.pending = append(o.out.pending, r)
}

// emitLocked appends an entry to the pending ones, if the rules allow it.
func (o *Owner) emitLocked(en *a2a.Entry) error {
	if o.phase == phaseClosed {
		return agent.ErrEnded
	}
	if err := o.accountForLocked(en); err != nil {
		return err
	}
	if err := o.draft.follow(en); err != nil {
		if err == ErrTerminal {
			return agent.ErrEnded
		}
		return err
	}
	o.createLocked()
	o.pendLocked(o.newRecordLocked(en))
	if o.draft.state.Terminal() {
		o.endLocked(&o.out.pending[len(o.out.pending)-1])
		o.overLocked()
		o.wake.Ring()
	}
	if len(o.out.ahead) == 0 { // otherwise the loop flushes again after the append under way
		o.nudge()
	}
	return nil
}

// emit is sayLocked, but waits first while too much is ahead of the disk.
func (o *Owner) emit(en *a2a.Entry) error {
	for {
		o.mu.Lock()
		if o.phase == phaseClosed || o.draft.state.Terminal() || (len(o.out.pending) < maxPending && o.out.bytes < maxPendingBytes) {
			err := o.sayLocked(en)
			o.mu.Unlock()
			return err
		}
		room := o.out.room.Wait()
		o.mu.Unlock()
		select {
		case <-room:
		case <-o.ctx.Done():
			return context.Cause(o.ctx.Context)
		}
	}
}
