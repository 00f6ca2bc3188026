package proxy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// historyLength is how many messages of a task are searched for those that were missed.
const historyLength = 50

// follow follows the agent's task until this side must act.
func (r *run) follow(ctx context.Context) error {
	for n, failures := 0, 0; !r.settled(); {
		before := r.bytes
		err := r.look(ctx)
		if err == nil && !r.settled() && !r.noSubs && streams(r.c) {
			err = r.subscribe(ctx)
		}
		_, own := errors.AsType[*fault](err)
		switch {
		case own:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.settled():
			continue
		case err == nil:
			if failures = 0; r.bytes > before {
				n = 0
			}
			if err := r.sleep(ctx, r.interval(n)); err != nil {
				return err
			}
			n++
		case judge(err) == final:
			return err
		default:
			if err := r.pause(ctx, failures, err); err != nil {
				return err
			}
			failures++
		}
	}
	return r.reconcile(ctx)
}

// look gets the task and passes on its changes.
func (r *run) look(ctx context.Context) error {
	if err := r.redial(ctx); err != nil {
		return err
	}
	task, err := r.getOnce(ctx)
	if err != nil {
		return err
	}
	return r.took(ctx, task)
}

func (r *run) getOnce(ctx context.Context) (*a2a.Task, error) {
	task, err := r.c.GetTask(ctx, &a2a.GetTaskRequest{ID: r.task, HistoryLength: new(int32(historyLength))})
	if err == nil {
		r.failing = time.Time{}
	}
	return task, err
}

// get gets the task, and retries as often as necessary.
func (r *run) get(ctx context.Context) (task *a2a.Task, err error) {
	for n := 0; ; n++ {
		if err = r.redial(ctx); err == nil {
			task, err = r.getOnce(ctx)
		}
		if v := judge(err); v == fine || v == final {
			return task, err
		}
		if err := r.pause(ctx, n, err); err != nil {
			return nil, err
		}
	}
}

// subscribe passes on the task's events, for as long as the connection lasts or the
// client can resume it.
func (r *run) subscribe(ctx context.Context) error {
	first := true
	err := r.watch(ctx, func(yield func(*a2a.StreamResponse, error) bool) {
		for el, err := range r.c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: r.task}) {
			if err == nil && first {
				// If the stream does not begin with the task (before 1.0), events
				// between the look and the subscription may be missing.
				first, r.unsure = false, r.unsure || el.Task == nil
			}
			if !yield(el, err) {
				return
			}
		}
	})
	if e, v := said(err), judge(err); e != nil && e.Peer && v != away && v != final && first {
		r.noSubs = true // the task has ended, as the next look tells, or cannot be subscribed to
		return nil
	}
	return err
}

// watch reads a stream to its end, or until the task only waits. An error of this side
// is a fault.
func (r *run) watch(ctx context.Context, els iter.Seq2[*a2a.StreamResponse, error]) error {
	for el, err := range els {
		if err != nil {
			return err
		}
		if r.events++; r.events > r.a.opts.maxEvents() {
			return &fault{tooMuch("events", r.a.opts.maxEvents())}
		}
		if err := r.take(ctx, el); err != nil {
			return &fault{err}
		}
		if r.settled() && r.status.State.Interrupted() {
			return nil
		}
	}
	return nil
}

// reconcile corrects what the events left in doubt.
func (r *run) reconcile(ctx context.Context) error {
	if !r.unsure || r.task == "" || r.reply != nil || !r.status.State.Terminal() {
		return nil
	}
	task, err := r.get(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.log.Warn("the agent's task could not be read once more; its artifacts may be incomplete", "error", err)
		return nil
	}
	if task.ID != r.task {
		return &fault{errForeign}
	}
	return wrap(r.takeArtifacts(task))
}

// moved returns when the agent's task no longer waits for its authorization. It emits
// nothing, because the turn is asking.
func (r *run) moved(ctx context.Context) error {
	r.asking = true
	defer func() { r.asking = false }()
	for n := 0; ; n++ {
		task, err := r.get(ctx)
		if err != nil {
			return err
		}
		if question(&task.Status) != r.asked {
			return nil
		}
		if !r.noSubs && streams(r.c) {
			for el, err := range r.c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: r.task}) {
				if err != nil {
					break
				}
				if el.Task != nil && question(&el.Task.Status) != r.asked || el.StatusUpdate != nil && question(&el.StatusUpdate.Status) != r.asked {
					return nil
				}
			}
		}
		if err := r.sleep(ctx, r.interval(n)); err != nil {
			return err
		}
	}
}

// redial gets the client for the agent's present card.
func (r *run) redial(ctx context.Context) error {
	c, err := r.a.dial(ctx)
	if err == nil {
		r.c = c
	}
	return err
}

// interval is the wait before the n-th look in a row without news.
func (r *run) interval(n int) time.Duration {
	d := r.a.opts.poll()
	for range min(n, 10) {
		d += d / 4
	}
	d = min(d, 8*r.a.opts.poll())
	if r.hooks != nil && r.c != nil && offers(r.c.Card().Capabilities.PushNotifications) {
		d *= 10
	}
	return d/2 + rand.N(d/2+1)
}

// blink is how long the agent may be unreachable before this task's status says so.
const blink = 2 * time.Second

// pause waits after the n-th failure in a row, whose error is err. Its own error is
// final.
func (r *run) pause(ctx context.Context, n int, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if unreachable(err) && r.c != nil {
		r.a.forget(r.c)
	}
	patience := r.a.opts.patience()
	if r.failing.IsZero() {
		r.failing = time.Now()
	}
	wait := min(250*time.Millisecond<<min(n, 6), 8*time.Second)
	if e := said(err); e != nil {
		wait = max(wait, e.RetryAfter)
	}
	if time.Since(r.failing)+wait > patience {
		return err
	}
	if !r.asking && !r.told.Equal(r.failing) && time.Since(r.failing) >= blink {
		r.told = r.failing
		if err := r.t.Status("the agent behind this one does not answer; trying again"); err != nil {
			return err
		}
	}
	r.log.Info("the agent did not answer and is asked again", "wait", wait, "error", err)
	return r.sleep(ctx, wait/2+rand.N(wait/2+1))
}

// sleep waits for d, or until the agent has posted that something changed.
func (r *run) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-r.hint:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

var errForeign = agent.Public("the agent behind this one answered about another task", nil)

func tooMuch(what string, most any) error {
	return agent.Public(fmt.Sprintf("the agent behind this one sent more than %v %s", most, what), nil)
}
