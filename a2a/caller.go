package a2a

import (
	"context"
	"slices"
)

// Caller is who makes a call and what the call declares about itself. It is
// the one value that Parley carries in contexts: of a request, and of the run of
// an agent that the request began, so that what the agent calls knows, too.
type Caller struct {
	Subject string // whose tasks are meant: unique over all ways to authenticate; "" for anonymous
	Tenant  string // from the caller's credentials; "" if they name none
	// Scopes are what the caller may do; see ScopeTasksRead and the others. Nil
	// means everything with what is the caller's own, and nothing else.
	Scopes []string
	// Via says how the caller was authenticated, for operators: "key 3fb0c2",
	// "oidc". Nothing is decided by it.
	Via string

	Extensions []string // extension URIs the caller supports (A2A-Extensions, §3.2.6)
	Hops       int      // agents that the call came through already; 0 from the first one
	// Trace says which trace the call belongs to: the traceparent that came with it
	// (W3C Trace Context), "" if none did or it was of no valid form. Where the call is
	// traced it is the span of the call, and of an agent's run that of the run.
	Trace string
	// TraceState is the tracestate that goes with Trace.
	TraceState string
}

// What a caller may do. A scope with :tenant is for what belongs to anybody of
// the caller's tenant, one with :all for everybody's; both include the caller's
// own. Those of admin are of the whole server, and good for nothing in credentials
// that name a tenant.
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

// OwnScopes are all that a caller can do with what is its own.
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

// callerContext is one allocation, where a value of its own would be two: there
// is one for each request and each run.
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

// WithCaller returns a context that carries c.
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
