package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// look gets the task, once the server can be asked. It returns nil if ctx ends
// first.
func (c *client) look(ctx context.Context, r *record) *a2a.Task {
	for ctx.Err() == nil {
		pos, taken := r.floor()
		t, err := c.svc.GetTask(ctx, &a2a.GetTaskRequest{ID: r.id})
		switch {
		case err == nil:
			r.sees("GetTask", t, pos, false, true, taken)
			return t
		case ctx.Err() != nil:
		case !temporary(err):
			r.violate(Service, "GetTask: %v", err)
			return nil
		}
		c.pause(ctx, 30*time.Millisecond)
	}
	return nil
}

// follow reads on in a stream until its connection ends, the task does, or it
// waits for its client. It returns false if there is nothing to read.
func (c *client) follow(ctx context.Context, r *record, seg *segment, answered bool) bool {
	ctx, alive, stop := c.patient(ctx)
	defer stop()
	leave := -1
	if c.rng.IntN(5) == 0 {
		leave = c.rng.IntN(8)
	}
	after := seg.last
	seg.floor, _ = r.floor()
	ctx = following(ctx, seg)
	what, stream := "subscribing", c.svc.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: r.id, After: after})
	attach := c.w.o.Retries && c.rng.IntN(4) == 0 && r.has(r.said)
	if attach { // the message that began it, once more
		what, stream = "attaching", c.svc.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: r.opening, IdempotencyKey: r.key, After: after})
	}
	some := false
	for el, err := range stream {
		if err != nil {
			if err := c.cut(ctx, r, fmt.Sprintf("%s behind %d", what, after), err); !temporary(err) && !errors.Is(err, context.Canceled) && !(seg.last == 0 && errors.Is(err, a2a.ErrUnsupportedOperation)) {
				r.violate(Service, "%s behind %d: %v", what, after, err)
			}
			return some
		}
		alive()
		if !some {
			some = true
			c.opened(after, attach)
		}
		if el.Message != nil {
			r.violate(Repeats, "a stream that was attached to it answers with a message")
			return true
		}
		seg.takes(el)
		if s := el.State(); s.Interrupted() && (!answered || r.asksAgain()) && (el.Task == nil || r.now() == s) {
			return true
		}
		if leave--; leave == -1 || seg.holes {
			return true
		}
	}
	return some
}

// opened counts a stream that came about.
func (c *client) opened(after int64, attached bool) {
	if attached {
		c.w.count.attached.Add(1)
	} else if !c.how.raw && c.how.binding != a2a.BindingGRPC {
		c.w.count.opened.Add(1)
	}
	if after > 0 {
		c.w.count.resumes.Add(1)
	}
}

// watch is a second reader of a task.
func (c *client) watch(ctx context.Context, r *record, seg *segment) {
	other := c.twin(rand.NewPCG(c.w.o.Seed, uint64(c.n)<<32))
	for ctx.Err() == nil && !r.now().Terminal() && !seg.holes {
		if !other.follow(ctx, r, seg, false) {
			c.pause(ctx, 50*time.Millisecond)
		}
		if r.now().Interrupted() {
			return
		}
	}
}

// cancel cancels the task, and asks until it is told the outcome.
func (c *client) cancel(ctx context.Context, r *record, after time.Duration) {
	c.pause(ctx, after)
	r.mu.Lock()
	r.wantsCancel = true
	r.mu.Unlock()
	for ctx.Err() == nil {
		pos, taken := r.floor()
		t, err := c.svc.CancelTask(ctx, &a2a.CancelTaskRequest{ID: r.id})
		switch {
		case err == nil:
			r.sees("CancelTask", t, pos, false, true, taken)
			r.mu.Lock()
			r.canceled = true
			r.mu.Unlock()
			if t.Status.State != a2a.TaskStateCanceled {
				r.violate(Service, "CancelTask answered with %v", t.Status.State)
			}
			return
		case errors.Is(err, a2a.ErrTaskNotCancelable):
			// In 0.3 that is also what a second call hears of the task that the first one
			// canceled, whose answer was lost.
			r.mu.Lock()
			r.notCancelable = c.how.version != "0.3"
			r.mu.Unlock()
			return
		case ctx.Err() != nil:
			return
		case !temporary(err):
			r.violate(Service, "CancelTask: %v", err)
			return
		}
		c.pause(ctx, 30*time.Millisecond)
	}
}

// after looks back at a task that has ended.
func (c *client) after(ctx context.Context, r *record) {
	t := c.look(ctx, r)
	if t == nil {
		return
	}
	if r.plan.kind == "echo" && t.Status.State == a2a.TaskStateCompleted {
		c.echoed = r
	}
	if c.rng.IntN(6) == 0 && t.Status.State.Terminal() {
		// Again, from somewhere in the middle to the end.
		from := r.somewhere(c.rng)
		if from == 0 {
			return
		}
		seg := r.segment()
		seg.from, seg.last = from, from
		for ctx.Err() == nil && !seg.holes && !seg.complete() {
			if !c.follow(ctx, r, seg, true) {
				c.pause(ctx, 30*time.Millisecond)
			}
		}
	}
	if c.how.version >= "1.0" && c.rng.IntN(12) == 0 {
		c.list(ctx, r)
	}
}

// somewhere returns a position that the client was shown, or 0.
func (r *record) somewhere(rng *rand.Rand) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var shown []int64
	for _, s := range r.segments {
		if s.from > 0 {
			shown = append(shown, s.from)
		}
		for _, e := range s.seen {
			shown = append(shown, e.pos)
		}
	}
	if len(shown) == 0 {
		return 0
	}
	return shown[rng.IntN(len(shown))]
}

// complete reports whether the segment has reached the end of its task as far
// as it is known.
func (s *segment) complete() bool {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return s.last >= s.r.high && len(s.seen) > 0 || s.from >= s.r.high
}

// list finds the task among those of its context.
func (c *client) list(ctx context.Context, r *record) {
	for ctx.Err() == nil {
		pos, _ := r.floor()
		res, err := c.svc.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: r.contextID, IncludeArtifacts: true})
		switch {
		case err == nil:
			if len(res.Tasks) != 1 || res.Tasks[0].ID != r.id {
				r.violate(Service, "a list of its context has %d tasks", len(res.Tasks))
				return
			}
			r.sees("ListTasks", res.Tasks[0], pos, false, false, nil)
			return
		case ctx.Err() != nil:
		case !temporary(err):
			r.violate(Service, "ListTasks: %v", err)
			return
		}
		c.pause(ctx, 30*time.Millisecond)
	}
}
