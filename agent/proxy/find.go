package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// find looks for the task of a message that an earlier run may have sent.
func (r *run) find(ctx context.Context, m *a2a.Message) (found bool, err error) {
	for n := 0; ; n++ {
		if err = r.redial(ctx); err == nil {
			found, err = r.findOnce(ctx, m)
		}
		if v := judge(err); v != away && v != lost { // also if the error is on this side
			return found, err
		}
		if err := r.pause(ctx, n, err); err != nil {
			return false, err
		}
	}
}

func (r *run) findOnce(ctx context.Context, m *a2a.Message) (bool, error) {
	age := time.Since(r.t.Task().Status.Timestamp)
	if r.c.Repeats() > age {
		return false, nil // it is sent again, and the agent recognizes it
	}
	if r.c.ChoosesTaskIDs() {
		task, err := r.c.GetTask(ctx, &a2a.GetTaskRequest{ID: r.chosen(m)})
		if errors.Is(err, a2a.ErrTaskNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, r.took(ctx, task)
	}
	if m.ContextID != "" && !r.c.Outdated() {
		res, err := r.c.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: m.ContextID, HistoryLength: new(int32(historyLength))})
		if v := judge(err); v == away || v == lost {
			return false, err
		}
		if err == nil {
			for _, task := range res.Tasks {
				if task != nil && took(task, m.MessageID) {
					if task, err = r.c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: new(int32(historyLength))}); err != nil {
						return false, err
					}
					return true, r.took(ctx, task)
				}
			}
		}
	}
	return false, &fault{agent.Public("the server was interrupted before the agent behind it said that it had taken the message; "+
		"it was not sent again, because it might be done twice", nil)}
}

func (r *run) took(ctx context.Context, task *a2a.Task) error {
	return wrap(r.take(ctx, &a2a.StreamResponse{Task: task}))
}
