package audit

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Request is the message of each line of the request log. Its attributes, if known, are in
// this order: op, caller, tenant, agent, task, result, ms, skipped.
const Request = "request"

// host returns the host of an address, which may have no port.
func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}

// line writes the line of a finished call to the request log. Calls without an identified
// caller are limited like cheap refusals in the audit log: the line after a gap has the
// number of skipped lines.
func (c *Record) line(ctx context.Context, outcome string, e *a2a.Error) {
	to, caller := &c.to.requests, a2a.CallerFrom(ctx)
	if to.to == nil || !to.to.Enabled(context.WithoutCancel(ctx), slog.LevelInfo) || to.skips(caller.Subject == "" || c.cheap(e)) {
		return
	}
	list := make(fields, 0, 8)
	if c.op != 0 {
		list = list.add("op", c.op.String())
	}
	list = list.add("caller", cmp.Or(caller.Subject, host(c.remote)))
	list = list.add("tenant", caller.Tenant)
	list = list.add("agent", c.Agent)
	list = list.add("task", c.task)
	if outcome == OK && c.state != 0 {
		outcome = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(c.state.String(), "TASK_STATE_"), "_", "-"))
	}
	list = list.add("result", outcome)
	to.write(ctx, c, slog.LevelInfo, Request, list)
}
