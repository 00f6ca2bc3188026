package a2a

import (
	"context"
	"slices"
)

// Caller identifies who makes a call and holds what the call declares about itself. It is
// the only value that Parley carries in contexts: in that of a request and in that of the
// agent's run that the request began, so that the agent's own calls pass it on.
type Caller struct {
	Subject string // owner of the caller's tasks; unique across all ways to authenticate; "" if anonymous
	Tenant  string // from the caller's credentials; "" if they name none
	// Scopes are what the caller may do; see ScopeTasksRead and the others. Nil means
	// OwnScopes.
	Scopes []string
	// Via says how the caller was authenticated, such as "key 3fb0c2" or "oidc". It is
	// for operators; no decision depends on it.
	Via string

	Extensions []string // extension URIs the caller supports (A2A-Extensions, §3.2.6)
	Hops       int      // agents that the call came through already; 0 from the first one
	// Trace is the traceparent that came with the call (W3C Trace Context), "" if there
	// was none or an invalid one. If the call is traced, Trace names the span of the
	// call, and in an agent's run the span of the run.
	Trace string
	// TraceState is the tracestate that goes with Trace.
	TraceState string
}

// Scopes say what a caller may do. A scope with :tenant covers the tasks of all callers
// of the caller's tenant, one with :all those of every tenant; both include the caller's
// own. The admin scopes cover the whole server and have no effect in credentials that
// name a tenant.
const (
	ScopeTasksRead  = "tasks:read"  // GetTask, ListTasks, SubscribeToTask
	ScopeTasksWrite = "tasks:write" // SendMessage, SendStreamingMessage, CancelTask
	ScopePushRead   = "push:read"   // GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs
	ScopePushWrite  = "push:write"  // to create and delete webhooks of tasks, also with a message
	ScopeCardRead   = "card:read"   // GetExtendedAgentCard

	ScopeTasksReadTenant   = "tasks:read:tenant"   // as ScopeTasksRead
	ScopeTasksReadAll      = "tasks:read:all"      // as ScopeTasksRead
	ScopeTasksCancelTenant = "tasks:cancel:tenant" // CancelTask
	ScopeTasksCancelAll    = "tasks:cancel:all"    // CancelTask

	ScopeAdminRead  = "admin:read"  // the whole server, with everybody's tasks (docs/admin-api.md)
	ScopeAdminWrite = "admin:write" // to change it: cancel, delete, send again, keys

	ScopeMetricsRead = "metrics:read" // /metrics (docs/observability.md)
)

// OwnScopes are the scopes for what a caller owns. Callers whose Scopes are nil have
// them.
var OwnScopes = []string{ScopeTasksRead, ScopeTasksWrite, ScopePushRead, ScopePushWrite, ScopeCardRead}

// Scopes are all scopes there are.
var Scopes = append(slices.Clone(OwnScopes),
	ScopeTasksReadTenant, ScopeTasksReadAll, ScopeTasksCancelTenant, ScopeTasksCancelAll, ScopeAdminRead, ScopeAdminWrite, ScopeMetricsRead)

// May reports whether the caller has one of the scopes. Callers whose scopes are
// nil have OwnScopes.
func (c *Caller) May(any ...string) bool {
	has := c.Scopes
	if has == nil {
		has = OwnScopes
	}
	return slices.ContainsFunc(any, func(s string) bool { return slices.Contains(has, s) })
}

type callerKey struct{}

// callerContext is one allocation; a value with a context of its own would be two.
// There is one for each request and each run.
type callerContext struct {
	context.Context
	caller Caller
}

func (c *callerContext) Value(key any) any {
	if _, ok := key.(callerKey); ok {
		return &c.caller
	}
	return c.Context.Value(key)
}

// WithCaller returns a context that carries c. A handler in front of an agent that
// authenticates by itself passes requests on with it; see the example of
// parley.Server.Handler.
func WithCaller(ctx context.Context, c Caller) context.Context { return &callerContext{ctx, c} }

// HasCaller reports whether the context is that of a call, or of an agent's run.
func HasCaller(ctx context.Context) bool { return ctx.Value(callerKey{}) != nil }

// CallerFrom returns the context's caller, or the anonymous one.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}
