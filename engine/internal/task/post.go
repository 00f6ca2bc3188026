package task

import (
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Post is a message on its way into the log, with the outcome that its sender waits for.
type Post struct {
	Message  *a2a.Message
	From     From
	Expect   *int64            // the message is refused if this is not the task's generation
	Identity *again.Identity   // if set, receipts of the message are appended with it
	Push     *store.PushConfig // if set, this configuration is created with the message

	Entry *a2a.Entry // of the message, once the owner has taken it

	Settled wake.Signal  // given when the fields below are set
	Seq     int64        // of the last entry that was appended with the message, once committed
	Start   *a2a.Task    // the task as of Seq, if a stream begins with it
	Reply   *a2a.Message // a direct answer; there is no task
	Err     error

	Stream bool         // set at start: the sender reads a stream
	Reopen bool         // set at start: the message may reopen a finished task
	Unread atomic.Bool  // the task ended before the agent took the message
	Fate   *wake.Signal // set at start: given when the agent takes the message, or never will; nil: not asked for
	held   bool         // the agent gets the message only once it is committed; protected by the owner
	Over   atomic.Int64 // seq of the newest end that was not of this message's turn: see successor.began
}

// From is what comes with a message besides its content.
type From struct {
	Caller      a2a.Caller
	Accepted    []string
	Metadata    a2a.JSON
	credentials bool   // the message was credentials, which are not kept
	Call        string // the call that waits for the task, if it is traced: see a2a.Received.Call
}

// received returns the part of f that is kept in the log.
func (o *Owner) received(f *From) *a2a.Received {
	trace := textOf(&f.Caller)
	if o.all.Tracer != nil && trace.parent != "" && (telemetry.Dropped(trace.parent) || !trace.context().IsSampled()) {
		trace = spanText{} // a later run could not link to the span, and the bytes cost 5 % of a send
	}
	if len(f.Accepted) == 0 && len(f.Caller.Extensions) == 0 && len(f.Metadata) == 0 && f.Caller.Hops == 0 && trace.parent == "" && !f.credentials {
		return nil
	}
	return &a2a.Received{
		AcceptedOutputModes: f.Accepted, Extensions: f.Caller.Extensions, Metadata: f.Metadata,
		Hops: f.Caller.Hops, Trace: trace.parent, TraceState: trace.state, Credentials: f.credentials, Call: f.Call,
	}
}

// recall makes a From of what the log kept. Scopes are not kept: they may have been revoked
// meanwhile.
func recall(key store.Key, r *a2a.Received) From {
	_, tenant := AgentOf(key.Tenant)
	f := From{Caller: a2a.Caller{Subject: key.Owner, Tenant: tenant}}
	if r != nil {
		f.Caller.Extensions, f.Accepted, f.Metadata = r.Extensions, r.AcceptedOutputModes, r.Metadata
		f.Caller.Hops, f.Caller.Trace, f.Caller.TraceState, f.credentials = r.Hops, r.Trace, r.TraceState, r.Credentials
		f.Call = r.Call
	}
	return f
}

// decided notes that the agent took a message, or never will.
func (p *Post) decided() {
	if p.Fate != nil {
		p.Fate.Give()
	}
}
