package audit

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/parley-a2a/parley/a2a"
)

// Request is the message of a line of the request log. Its attributes are, as far as
// they are known, in this order: op, caller, tenant, agent, task, result, ms, skipped.
const Request = "request"

// requests is the request log: one line for each call, when it ends. Calls of
// strangers, who are all callers without a name, are limited as cheap refusals are
// in the audit log: the line after a gap has the number of those that were skipped.
type requests struct {
	to        *slog.Logger // nil: there is none
	strangers *rate.Limiter
	skipped   atomic.Int64
}

// reached notes the state that a call found or left its task in.
func (c *Record) reached(res any) {
	switch r := res.(type) {
	case *a2a.SendMessageResponse:
		if r.Task != nil {
			c.state = r.Task.Status.State
		}
	case *a2a.StreamResponse:
		switch {
		case r.StatusUpdate != nil:
			c.state = r.StatusUpdate.Status.State
		case r.Task != nil:
			c.state = r.Task.Status.State
		}
	case *a2a.Task:
		c.state = r.Status.State
	}
}

// host returns the host of an address; it may have no port.
func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}

// line writes the line of a call that has ended.
func (c *Record) line(ctx context.Context, outcome string, e *a2a.Error) {
	q := &c.to.requests
	if q.to == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if !q.to.Enabled(ctx, slog.LevelInfo) {
		return
	}
	caller := a2a.CallerFrom(ctx)
	if (caller.Subject == "" || c.cheap(e)) && !q.strangers.Allow() {
		q.skipped.Add(1)
		return
	}
	list := make([]slog.Attr, 0, 8)
	add := func(name, value string) {
		if value != "" {
			list = append(list, slog.String(name, printable(value)))
		}
	}
	if c.op != 0 {
		add("op", c.op.String())
	}
	if caller.Subject != "" {
		add("caller", caller.Subject)
	} else {
		add("caller", host(c.remote))
	}
	add("tenant", caller.Tenant)
	add("agent", c.Agent)
	add("task", c.task)
	if outcome == OK && c.state != 0 {
		outcome = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(c.state.String(), "TASK_STATE_"), "_", "-"))
	}
	add("result", outcome)
	list = append(list, slog.Float64("ms", c.ms()))
	if n := q.skipped.Swap(0); n > 0 {
		list = append(list, slog.Int64("skipped", n))
	}
	q.to.LogAttrs(ctx, slog.LevelInfo, Request, list...)
}
