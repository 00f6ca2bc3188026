package torture

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// briefTask is one that failed or was canceled, which the servers keep for
// WebhookOptions.Retain and then forget.
type briefTask struct {
	message *a2a.Message // that began it
	ends    bool         // its client cancels it
	began   time.Time    // before it was sent

	id, contextID string
	log           *history // as it was when it had ended; nil: it was gone too soon
	gone          time.Time
}

// expired reports whether the client's task is not found because it is over age.
func (c *hookClient) expired(err error) bool {
	return c.w.o.Retain > 0 && time.Since(c.began) > c.w.o.Retain && errors.Is(err, a2a.ErrTaskNotFound)
}

// cancel cancels a task, which may have ended.
func (c *hookClient) cancel(ctx context.Context, id string) {
	pause(ctx, ms(c.rng.IntN(200)))
	c.w.insist(ctx, "cancel task "+id, func() error {
		_, err := c.control.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
		if errors.Is(err, a2a.ErrTaskNotCancelable) || c.expired(err) {
			return nil
		}
		return err
	})
}

// isBrief keeps in mind a task that has ended, if the servers shall forget it.
func (c *hookClient) isBrief(ctx context.Context, b *briefTask, id string) {
	b.id = id
	known := c.w.insist(ctx, "read what task "+id+" was", func() error {
		task, err := c.control.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err == nil && slices.Contains([]a2a.TaskState{a2a.TaskStateFailed, a2a.TaskStateCanceled}, task.Status.State) {
			b.contextID = task.ContextID
			b.log, err = recall(ctx, c.control, task)
		}
		if c.w.o.Retain > 0 && errors.Is(err, a2a.ErrTaskNotFound) {
			if b.log, b.gone = nil, time.Now(); !c.expired(err) {
				c.w.violate(hookKept, "task %s is gone %v after it was begun", id, time.Since(b.began))
			}
			return nil
		}
		return err
	})
	if known && (b.contextID != "" || !b.gone.IsZero()) {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.w.brief = append(c.w.brief, b)
	}
}

// left are the brief tasks that are still there, so far as it is known.
func (w *hookWorld) left() []*briefTask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.brief), func(b *briefTask) bool { return !b.gone.IsZero() })
}

// watchBrief looks which brief tasks are gone, until ctx ends.
func (w *hookWorld) watchBrief(ctx context.Context) {
	cl := w.control(ctx)
	for ctx.Err() == nil {
		for _, b := range w.left() {
			_, err := cl.GetTask(ctx, &a2a.GetTaskRequest{ID: b.id})
			if !errors.Is(err, a2a.ErrTaskNotFound) {
				continue
			}
			now := time.Now()
			if age := now.Sub(b.began); age < w.o.Retain {
				w.violate(hookKept, "task %s is gone %v after it was begun", b.id, age)
			}
			w.mu.Lock()
			b.gone = now
			hooks := w.hooks
			w.mu.Unlock()
			for _, h := range hooks {
				h.mu.Lock()
				if h.task == b.id && h.deleted.IsZero() {
					h.deleted = now
				}
				h.mu.Unlock()
			}
		}
		pause(ctx, 500*time.Millisecond)
	}
}

// judgeBrief compares what came for brief tasks with what their logs were, and looks
// for them where they must not be. It returns them by their ids.
func (w *hookWorld) judgeBrief(ctx context.Context, cl *a2aclient.Client, of map[string][]*hook) (map[string]bool, error) {
	known := map[string]bool{}
	for n, b := range w.brief {
		known[b.id] = true
		if b.gone.IsZero() {
			w.violate(hookKept, "task %s, which began %v ago, is still there", b.id, time.Since(b.began))
			continue
		}
		if b.log != nil {
			for _, h := range of[b.id] {
				w.compare(h, b.log)
			}
		}
		if b.contextID != "" {
			res, err := cl.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: b.contextID})
			if err != nil {
				return nil, err
			}
			if len(res.Tasks) > 0 || res.TotalSize > 0 {
				w.violate(hookKept, "task %s is gone, and a list of its context has %d of %d", b.id, len(res.Tasks), res.TotalSize)
			}
		}
		if n >= 50 { // each begins a task
			continue
		}
		res, err := cl.SendMessage(ctx, &a2a.SendMessageRequest{Message: b.message, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true}})
		if err != nil || res.Task == nil || res.Task.ID == b.id {
			w.violate(hookKept, "the message of task %s, which is gone, is answered with %+v, %v", b.id, res, err)
		}
	}
	return known, nil
}
