package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// post takes a message for the task: into the log, then to the agent. If the
// agent runs it gets the message from Next; otherwise a turn begins. If the
// task has ended it returns errTerminal; the end may not be committed yet.
func (o *owner) post(p *post) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone {
		return o.err
	}
	if o.draft.state.Terminal() {
		return errTerminal
	}
	m := *p.message
	m.TaskID, m.ContextID = o.key.ID, o.contextID
	p.message = &m
	waits := o.draft.state.Interrupted()
	en := &a2a.Entry{Kind: a2a.EntryMessage, Message: p.message, Received: p.from.received()}
	if err := o.emitLocked(en); err != nil {
		return err
	}
	if waits {
		// The answer came: the client's stream begins with a task at work. A
		// process that is lost must not leave a task that has its answer and
		// still waits.
		o.pending[len(o.pending)-1].tied = true
		if err := o.emitLocked(o.status(a2a.TaskStateWorking, nil)); err != nil {
			return err
		}
		o.turn.lost = 0 // the turn has got somewhere
	}
	o.pending[len(o.pending)-1].post = p
	o.waiting[p] = true
	o.turn.messages = append(o.turn.messages, p)
	if o.running {
		o.wakeLocked()
		return nil
	}
	if o.turn.begin == nil {
		o.turn = turnState{begin: en, messages: []*post{p}}
	}
	o.startLocked()
	return nil
}

// startLocked runs the agent from the top of the turn.
func (o *owner) startLocked() {
	o.turn.taken = 1 // the message that began the turn
	o.turn.step = 0
	o.turn.attempt++
	o.running = true
	o.e.work.Add(1)
	go o.runAgent()
}

func (o *owner) runAgent() {
	defer o.e.work.Done()
	err := errors.New("the agent's goroutine ended without returning")
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		o.finished <- err
	}()
	err = o.e.agent.Run(o.ctx, agent.NewTurn(&host{o}))
}

// conclude ends the task as the agent's Run returned.
func (o *owner) conclude(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running = false
	if o.gone || o.draft.state.Terminal() {
		return
	}
	var public *agent.PublicError
	var end *a2a.Entry
	switch {
	case o.canceling:
		end = o.status(a2a.TaskStateCanceled, nil)
	case err == nil:
		end = o.status(a2a.TaskStateCompleted, nil)
	case context.Cause(o.ctx) == agent.ErrDraining:
		o.log().Info("left for the next start", "error", err)
		return
	case errors.As(err, &public):
		o.log().Info("agent failed the task", "error", err)
		end = o.status(a2a.TaskStateFailed, words(public.Reason))
	default:
		o.log().Error("agent failed", "error", err)
		end = o.status(a2a.TaskStateFailed, words("the agent failed"))
	}
	if err := o.emitLocked(end); err != nil {
		o.log().Error("task cannot be ended", "error", err)
	}
}

// requestCancel puts the wish to cancel into the log. The agent hears of it
// once that is committed.
func (o *owner) requestCancel(c *a2a.CancelRequested) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.gone:
		return o.err
	case o.draft.state.Terminal(), o.canceling:
		return nil // the caller waits for the end in any case
	}
	if err := o.emitLocked(&a2a.Entry{Kind: a2a.EntryCancel, Cancel: c}); err != nil {
		return err
	}
	o.canceling = true
	if o.running {
		return nil
	}
	return o.emitLocked(o.status(a2a.TaskStateCanceled, nil))
}

// abandon cancels the task without its agent, which did not stop in time. The
// agent's goroutine goes on alone; nothing it says is taken any more.
func (o *owner) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.running {
		return
	}
	o.running = false
	if o.draft.state.Terminal() {
		return
	}
	o.log().Warn("agent ignores cancellation; task canceled without it")
	if err := o.emitLocked(o.status(a2a.TaskStateCanceled, nil)); err != nil {
		o.log().Error("task cannot be canceled", "error", err)
	}
}

func errFinished(id string) error {
	return &a2a.Error{
		Code:    a2a.CodeUnsupportedOperation,
		Message: "the task is finished and takes no more messages; start a new one in the same context",
		Meta:    map[string]string{"taskId": id},
	}
}

func errNotCancelable(id string, s a2a.TaskState) error {
	return &a2a.Error{
		Code:    a2a.CodeTaskNotCancelable,
		Message: "the task is finished (" + s.String() + ") and cannot be canceled",
		Meta:    map[string]string{"taskId": id},
	}
}

func errNotFound(id string) error {
	return &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "task not found", Meta: map[string]string{"taskId": id}}
}
