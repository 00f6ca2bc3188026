package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
)

// CancelTask implements a2a.Service (specification §3.1.5). The cancel request is committed
// first, then the agent is told. The task is canceled when the agent has stopped, or without it
// after CancelWait. If the agent finishes first, its end stands and the cancel fails.
func (s *service) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	e := s.e
	a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksWrite, a2a.ScopeTasksCancelTenant, a2a.ScopeTasksCancelAll)
	if err != nil {
		return nil, err
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	key, err := e.visible(ctx, a, req.ID)
	if err != nil {
		return nil, err
	}
	t := e.topics.Join(key)
	defer e.topics.Leave(t)
	task, last, err := e.topics.LoadAt(ctx, t)
	if err != nil {
		return nil, err
	}
	if task.Status.State.Terminal() {
		if req.Legacy != nil && req.Legacy.CanceledToo {
			return nil, errNotCancelable(req.ID, task.Status.State)
		}
	} else {
		after, err := e.cancel(ctx, t, last, &a2a.CancelRequested{Subject: a.caller.Subject, Metadata: req.Metadata})
		if err != nil {
			return nil, err
		}
		ended, err := e.topics.Await(ctx, t, after, a2a.TaskState.Terminal)
		if err != nil {
			return nil, err
		}
		if task, _, err = e.topics.EndedAt(ctx, t, ended); err != nil {
			return nil, err
		}
	}
	// Canceling a canceled task has the same effect again (§3.3.1).
	if task.Status.State != a2a.TaskStateCanceled {
		return nil, errNotCancelable(req.ID, task.Status.State)
	}
	return task, nil
}

func errNotCancelable(id string, s a2a.TaskState) error {
	return stored.About(id, a2a.CodeTaskNotCancelable, "the task is finished (%s) and cannot be canceled", s)
}
