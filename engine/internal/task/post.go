package task

import (
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Post is a message on its way into the log, and what its sender waits for.
type Post struct {
	Message  *a2a.Message
	From     From
	Expect   *int64            // the task's generation, or the message is refused
	Identity *again.Identity   // if set, receipts of the message are appended with it
	Push     *store.PushConfig // if set, it comes into being with the message

	Entry *a2a.Entry // of the message, once the owner has taken it

	Settled wake.Signal  // given when the fields below are set
	Seq     int64        // of the last entry that was appended with the message, once committed
	Start   *a2a.Task    // the task as of seq, if a stream begins with it
	Reply   *a2a.Message // a direct answer; there is no task
	Err     error

	Stream    bool         // set at start: the sender reads a stream
	contested bool         // set at start: other processes may take messages for the task, too
	Reopen    bool         // set at start: may begin a finished task anew
	Unread    atomic.Bool  // the task ended before the agent took the message
	Fate      *wake.Signal // set at start: given when the agent takes the message, or never will; nil: nobody wants to know
	held      bool         // the agent gets it once it is committed; protected by the owner
	Over      atomic.Int64 // seq of the newest end that was not this message's: see owner.next
}

// From is what a message brings along besides itself.
type From struct {
	Caller      a2a.Caller
	Accepted    []string
	Metadata    a2a.JSON
	credentials bool   // the message was, and is not kept
	Call        string // that waits for the task, if it is traced: see a2a.Received.Call
}

// received is the part of what a message brings along that is kept in the log.
func (o *Owner) received(f *From) *a2a.Received {
	trace := textOf(&f.Caller)
	if o.all.Tracer != nil && trace.parent != "" && (telemetry.Dropped(trace.parent) || !trace.context().IsSampled()) {
		trace = spanText{} // nothing is there that a later run could be linked to, and the bytes cost 5 % of a send
	}
	if len(f.Accepted) == 0 && len(f.Caller.Extensions) == 0 && len(f.Metadata) == 0 && f.Caller.Hops == 0 && trace.parent == "" && !f.credentials {
		return nil
	}
	return &a2a.Received{
		AcceptedOutputModes: f.Accepted, Extensions: f.Caller.Extensions, Metadata: f.Metadata,
		Hops: f.Caller.Hops, Trace: trace.parent, TraceState: trace.state, Credentials: f.credentials, Call: f.Call,
	}
}

// recall makes a from of what the log kept. Scopes are not kept: they may
// have been revoked meanwhile.
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
