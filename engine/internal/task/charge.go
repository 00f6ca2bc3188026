package task

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
)

// A task at work is in memory as a whole: its owner, its topic and its agent hold all messages
// and artifacts. So a large task is charged to its caller, from before its message is accepted
// until the task leaves memory. A message waits until there is room. An agent's output never
// waits: it may exceed the budget, and then messages wait until there is room again.

const (
	// SmallTask is the weight, in bytes, up to which a task is not counted. As many such tasks
	// as Limits.Running may be at work.
	SmallTask = 16 << 10
	// chargeStep is by how many bytes a task may change before it is counted anew.
	chargeStep = 64 << 10
)

// BudgetKey implements budget.Caller: the caller whose task it is, across all agents.
func (o *Owner) BudgetKey() any { return ScopeOf(o.key) }

// footprint is the memory that a task uses.
type footprint struct {
	hold    budget.Hold // of Needs.Weights
	weight  int64       // of the log and all that is emitted, see stored.Weight
	tail    int64       // bytes that the topic's tail holds in addition
	unsaved int64       // bytes of records that are not in the store yet
	coming  int64       // the weight of messages that wait for room
	callers int         // callers that wait with them; the task may begin meanwhile
}

// chargeLocked charges what o holds. It does not wait, because the data is in memory already.
func (o *Owner) chargeLocked() {
	n, held := o.mem.weight+o.mem.tail+o.mem.unsaved, o.mem.hold.Held()
	if n <= SmallTask || o.phase == phaseClosed || held > 0 && max(n-held, held-n) < chargeStep {
		return
	}
	o.mem.hold.Set(n)
}

// admit waits until there is room for a message to o's task. It holds no lock while it waits,
// and small messages do not wait. The caller calls done when the message is accepted or
// refused.
func (o *Owner) admit(ctx context.Context, p *Post) (done func(), _ error) {
	n := stored.Weight(&a2a.Entry{Message: p.Message, Received: o.received(&p.From)})
	if o.all.Weights == nil || n <= SmallTask {
		return func() {}, nil
	}
	o.mu.Lock()
	o.mem.coming += 2 * n // as it came, and encoded for the store
	o.mem.callers++
	need := o.mem.weight + o.mem.tail + o.mem.unsaved + o.mem.coming
	o.mu.Unlock()
	o.nudge()
	err := o.all.waitFor(ctx, &o.mem.hold, need, budget.Wait)
	o.mu.Lock()
	o.mem.callers--
	o.mu.Unlock()
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.mem.coming -= 2 * n
		if o.phase == phaseClosed || o.mem.weight <= SmallTask {
			o.mem.hold.Close()
			return
		}
		o.chargeLocked()
	}, err
}

// waitFor makes h hold n bytes of the budget of tasks at work. It waits until atMost has passed
// or the engine drains.
func (os *Owners) waitFor(ctx context.Context, h *budget.Hold, n int64, atMost time.Duration) error {
	if os.Weights == nil || n <= SmallTask || h.Try(n) {
		return nil
	}
	within, cancel := context.WithTimeoutCause(ctx, atMost, budget.ErrFull)
	defer cancel()
	defer context.AfterFunc(os.base, cancel)()
	err := h.Ensure(within, n)
	switch {
	case err == nil:
		return nil
	case os.base.Err() != nil:
		return stored.Stopping()
	case errors.Is(err, budget.ErrFull):
		return errNoMemory()
	}
	return err
}

func errNoMemory() error {
	return &a2a.Error{
		Code:       a2a.CodeUnavailable,
		Message:    "the tasks at work hold as much data as there is memory for: wait until one of yours is over or cancel it, then send this again; or send large content by URL",
		RetryAfter: 5 * time.Second,
		Cause:      budget.ErrFull,
	}
}
