package proxy

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// goodbye is how long a cancellation at the agent may take.
const goodbye = 10 * time.Second

// stop ends a run whose context has ended. At a drain the agent's task goes on, and a
// later run finds it; otherwise it is cancelled at the agent, and this task ends as
// that one did.
func (r *run) stop(ctx context.Context, cause error) error {
	if errors.Is(cause, agent.ErrDraining) {
		if r.task == "" && r.reply == nil && !r.doubt {
			return errors.Join(cause, r.note(context.WithoutCancel(ctx), record{Unsent: r.t.Attempt()}))
		}
		return cause
	}
	if !errors.Is(cause, agent.ErrCanceled) {
		r.abandon(ctx)
		return cause
	}
	if r.reply != nil {
		return cause
	}
	if r.task == "" {
		if !r.doubt {
			return cause // the agent took nothing
		}
		return r.t.End(a2a.TaskStateCanceled, text("It is not known whether the agent behind this one took the message; it may be at work on it."))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if !r.status.State.Terminal() {
		if err := r.cancel(ctx); err != nil {
			r.log.Warn("the agent did not cancel the task", "error", err)
		}
	}
	switch {
	case r.reply != nil:
		return r.t.ReplyParts(r.reply.Parts...)
	case r.status.State.Terminal():
		return r.t.End(r.status.State, r.words(r.status.Message))
	}
	return r.t.End(a2a.TaskStateCanceled, text("The agent behind this one did not cancel its task, which may continue there."))
}

// cancel asks the agent to cancel its task, and waits until that has ended.
func (r *run) cancel(ctx context.Context) error {
	if err := r.redial(ctx); err != nil {
		return err
	}
	task, err := r.c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: r.task})
	switch {
	case errors.Is(err, a2a.ErrTaskNotCancelable):
		return r.look(ctx) // the task ended first, or the agent cannot cancel
	case err != nil:
		return err
	}
	task.ID = cmp.Or(task.ID, r.task)
	if err := r.took(ctx, task); err != nil {
		return err
	}
	for n := 0; !r.status.State.Terminal(); n++ {
		if err := r.sleep(ctx, 100*time.Millisecond<<min(n, 4)); err != nil {
			return err
		}
		if err := r.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// abandon tells the agent that its task is no longer needed.
func (r *run) abandon(ctx context.Context) {
	if r.task == "" || r.c == nil || r.status.State.Terminal() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := r.c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: r.task}); err != nil {
		r.log.Info("the agent was not told that its task is no longer wanted", "error", err)
	}
}

func text(s string) *a2a.Message { return &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(s)}} }
