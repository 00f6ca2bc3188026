package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// Take is post for a message that may have to wait for memory, and that another process may
// already have accepted.
func (o *Owner) Take(ctx context.Context, p *Post) error {
	if err := CheckContext(p.Message, o.contextID); err != nil {
		return err
	}
	if err := o.acceptedBefore(ctx, p); err != nil {
		return err
	}
	done, err := o.admit(ctx, p)
	defer done()
	if err != nil {
		return err
	}
	return o.post(p)
}

// acceptedBefore returns store.ErrDuplicate if another process accepted the message after the
// engine last looked for it and before this process loaded its task. If another one accepts it
// later, the log grows and this process's append is refused.
func (o *Owner) acceptedBefore(ctx context.Context, p *Post) error {
	if !o.topic.Contested() || p.Identity == nil {
		return nil
	}
	switch r, err := p.Identity.Find(ctx, o.all.Store, o.all.Now()); {
	case errors.Is(err, a2a.ErrConflict):
		return err
	case err != nil:
		return stored.Failed(err, "look for an earlier message")
	case r != nil:
		return store.ErrDuplicate
	}
	return nil
}

// Left returns a channel that is closed when an owner that returned ErrRetiring has left.
func (o *Owner) Left() <-chan struct{} { return o.succession.left } // set before ErrRetiring is returned, then constant

// post puts a message into the task's log and then hands it to the agent: an agent that runs
// gets it from Next, otherwise a turn begins. It returns ErrTerminal if the task has ended;
// that end may not be committed yet. It returns ErrRetiring if the task goes on, or may with
// this message, but the owner whose turn has ended is still there.
func (o *Owner) post(p *Post) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == phaseClosed {
		return o.err
	}
	if err := o.admitLocked(p); err != nil {
		return err
	}
	m := *p.Message
	m.TaskID, m.ContextID = o.key.ID, o.contextID
	p.Message = &m
	var secret *a2a.Message
	if o.guardsLocked() {
		secret = hide(p)
	}
	reopens, waits := o.draft.state.Terminal(), o.draft.state.Interrupted()
	must := secret != nil || o.turn.canceling != nil || o.phase == phaseRunning && o.boundLocked()
	here, err := o.askLocked(p, must)
	switch {
	case err != nil:
		return err
	case !here && o.phase != phaseYielding:
		o.yieldLocked()
	}
	if reopens {
		if err := o.reopenLocked(); err != nil {
			return err
		}
	}
	en := &a2a.Entry{Kind: a2a.EntryMessage, Message: p.Message, Received: o.received(&p.From)}
	if err := o.emitLocked(en); err != nil {
		return err
	}
	if waits {
		// The message answers a question, so the client's stream begins with a task at work.
		// The two entries are in one append: if the process dies, the task must not be left
		// with its answer and still waiting.
		o.out.pending[len(o.out.pending)-1].tied = true
		if err := o.emitLocked(o.status(a2a.TaskStateWorking, nil)); err != nil {
			return err
		}
		o.turn.lost = 0 // the turn has made progress
	}
	o.out.pending[len(o.out.pending)-1].post = p
	p.Entry = en
	if secret != nil {
		o.auth.came = append(o.auth.came, credentials{p, secret, o.auth.prompt})
	} else {
		o.turn.messages = append(o.turn.messages, p)
	}
	switch {
	case !here: // the process that draws the task goes on with it
	case o.topic.Contested() && (waits || reopens):
		// Any process may go on with a task that waited; the first one to append gets it. So
		// the agent gets the message only once it is committed.
		p.held = true
		if o.phase == phaseIdle || o.phase == phaseNoAgent {
			o.enterLocked(phaseStarting)
		}
	case o.phase == phaseRunning:
		o.wake.Ring()
	case o.phase == phaseIdle || o.phase == phaseNoAgent:
		o.startLocked()
	}
	return nil
}

// heldLocked gives the agent the messages that were held until the flight was committed.
func (o *Owner) heldLocked(f *flight) {
	any := false
	for i := range f.records {
		if p := f.records[i].post; p != nil && p.held {
			p.held, any = false, true
		}
	}
	switch {
	case !any:
	case o.phase != phaseStarting:
		o.wake.Ring()
	case o.ctx.Err() == nil && !o.draft.state.Terminal():
		o.startLocked()
	default:
		o.enterLocked(phaseIdle)
		o.wake.Ring()
	}
}

// admitLocked checks a message against the task as it is now.
func (o *Owner) admitLocked(p *Post) error {
	if o.draft.state.Terminal() {
		if o.succession.next != nil { // others may see the next turn already, and not that this one has ended
			return ErrRetiring
		}
		if !p.Reopen || !MayFollow(o.draft.state, a2a.TaskStateSubmitted, o.draft.version.Reopens()) {
			return ErrTerminal
		}
		if o.out.used {
			// The agent that ran here may still emit events, and a cancellation of this turn
			// may still come. Neither may reach the next turn, so that gets an owner of its
			// own.
			if o.succession.left == nil {
				o.succession.left = make(chan struct{})
				o.nudge()
			}
			return ErrRetiring
		}
	}
	if p.Expect != nil && *p.Expect != o.draft.generation {
		return errGeneration(o.key.ID, *p.Expect, o.draft.generation)
	}
	l := o.all.limits.Load()
	if l.Messages > 0 && o.draft.messages >= l.Messages {
		return stored.About(o.key.ID, a2a.CodeUnsupportedOperation, "the task has taken %d messages, the most that one takes; start a new one in the same context", l.Messages)
	}
	en := a2a.Entry{Kind: a2a.EntryMessage, Message: p.Message, Received: o.received(&p.From)}
	if l.TaskBytes > 0 && o.mem.weight+stored.Weight(&en) > l.TaskBytes {
		return stored.About(o.key.ID, a2a.CodeTooLarge, "the task would grow beyond %d bytes with this message; start a new one in the same context", l.TaskBytes)
	}
	return nil
}

// startLocked runs the agent from the top of the turn.
func (o *Owner) startLocked() {
	p := o.all.perform(o.key)
	if p == nil {
		o.awaitLocked()
		return
	}
	o.out.used = true
	why, stood := o.causeLocked()
	o.turn.taken = 1 // the message that began the turn
	o.turn.messages[0].decided()
	o.turn.steps.again()
	o.turn.attempt++
	o.tracing.attempt.Store(o.turn.attempt)
	o.accountLocked()
	o.enterLocked(phaseRunning)
	o.auth.heard, o.auth.given = false, false
	o.all.work.Add(1)
	go o.runAgent(p, why, stood, o.tracesLocked())
}

func (o *Owner) runAgent(p *Player, why string, stood time.Duration, traced bool) {
	defer o.all.work.Done()
	defer func() {
		if p.end() {
			o.all.Dismiss(p)
		}
	}()
	grow()
	err := errNoReturn
	ctx, measured := o.ctx.Context, context.Background() // the owner's context has no span, and looking for one takes long
	if traced {
		ctx = o.traceRun(ctx)
		measured = ctx
	}
	begun := o.all.Meters.began(measured, o, why, stood)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if traced {
			o.endRun(err)
		}
		o.all.Meters.over(measured, o, begun, err)
		o.inbox.finish(err)
	}()
	h := (*host)(o)
	err = p.Agent.Run(a2a.WithCaller(ctx, h.Caller()), agent.NewTurn(h))
}

var errNoReturn = errors.New("the agent's goroutine ended without returning")

// grow enlarges the stack of a goroutine that has just begun. An agent's events need the room,
// and growing later, with a dozen frames to move, took a sixth of a quick task's time.
//
//go:noinline
func grow() byte {
	var room [4 << 10]byte
	return room[someByte]
}

var someByte uint8 // a variable, so that the compiler cannot remove room

// conclude ends the task according to err, which the agent's Run returned.
func (o *Owner) conclude(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.phase
	if was != phaseRunning && was != phaseEnding {
		return // the run was given up before
	}
	o.enterLocked(phaseIdle)
	if was == phaseEnding {
		if err != nil && !errors.Is(err, agent.ErrEnded) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.Cause(o.ctx.Context)) {
			o.log().Error("agent failed after the end of its task", "error", err)
		}
		return
	}
	var end *a2a.Entry
	switch {
	case o.turn.canceling != nil:
		end = o.status(a2a.TaskStateCanceled, nil)
	case o.adm.timedOut:
		o.log().Info("task failed: its time is up", "error", err)
		end = o.tooLong()
	case err == nil:
		end = o.status(a2a.TaskStateCompleted, nil)
	case context.Cause(o.ctx.Context) == agent.ErrDraining:
		log := o.log()
		if !errors.Is(err, agent.ErrDraining) { // otherwise nothing went wrong
			log = log.With("error", err)
		}
		log.Info("left for the next start")
		if !o.draft.state.Interrupted() {
			o.all.left.Add(1)
		}
		return
	default:
		if public, ok := errors.AsType[*agent.PublicError](err); ok {
			o.log().Info("agent failed the task", "error", err)
			end = o.failure(public.Reason)
		} else {
			o.log().Error("agent failed", "error", err)
			end = o.failure("the agent failed")
		}
	}
	o.concludeLocked(end)
}

// concludeLocked ends the task with an entry that is not the agent's.
func (o *Owner) concludeLocked(end *a2a.Entry) {
	if err := o.emitLocked(end); err != nil {
		o.log().Error("task cannot be ended", "error", err)
	}
}

// RequestCancel puts a cancel request into the log. An agent that runs is told once the request
// is committed; if none runs, the task is canceled at once. asked is settled when the request is
// committed or cannot be; it is nil if the task is finished, whose end may not be committed. The
// end that the request is for comes after the seq after: the task may have ended and been
// reopened since the caller looked at it.
func (o *Owner) RequestCancel(c *a2a.CancelRequested) (asked *Post, after int64, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.phase == phaseClosed:
		return nil, 0, o.err
	case o.draft.state.Terminal():
		return nil, 0, nil
	}
	after = o.topic.NewestEnd()
	if o.turn.canceling != nil {
		return o.turn.canceling, after, nil
	}
	if err := o.emitLocked(&a2a.Entry{Kind: a2a.EntryCancel, Cancel: c}); err != nil {
		return nil, 0, err
	}
	asked = &Post{}
	o.turn.canceling = asked
	o.turn.canceled = len(o.turn.messages)
	o.out.pending[len(o.out.pending)-1].post = asked
	switch o.phase {
	case phaseRunning:
		return asked, after, nil
	case phaseResting, phaseStarting:
		o.enterLocked(phaseIdle)
	}
	return asked, after, o.emitLocked(o.status(a2a.TaskStateCanceled, nil))
}

// desert ends the task without its agent, which was told to stop and did not in time. The
// agent's goroutine goes on alone; its events are refused.
func (o *Owner) desert() {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.phase
	if was != phaseRunning && was != phaseEnding {
		return
	}
	o.enterLocked(phaseIdle)
	if was == phaseEnding {
		return
	}
	end := o.tooLong()
	if o.turn.canceling != nil {
		end = o.status(a2a.TaskStateCanceled, nil)
		o.log().Warn("agent ignores cancellation; task canceled without it")
	} else {
		o.log().Warn("agent ignores that its time is up; task failed without it")
	}
	o.concludeLocked(end)
}

func errGeneration(id string, expected, current int64) error {
	return &a2a.Error{
		Code:    a2a.CodeTaskGenerationMismatch,
		Message: fmt.Sprintf("task generation mismatch: expected %d but current generation is %d; get the task and decide again", expected, current),
		Meta: map[string]string{
			"taskId":             id,
			"expectedGeneration": strconv.FormatInt(expected, 10),
			"currentGeneration":  strconv.FormatInt(current, 10),
		},
	}
}
