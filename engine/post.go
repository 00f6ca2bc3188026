package engine

import (
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// post is a message on its way into the log, and what its sender waits for.
type post struct {
	message  *a2a.Message
	from     from
	expect   *int64            // the task's generation, or the message is refused
	identity *again.Identity   // if set, receipts of the message are appended with it
	push     *store.PushConfig // if set, it comes into being with the message

	entry *a2a.Entry // of the message, once the owner has taken it

	settled wake.Signal  // given when the fields below are set
	seq     int64        // of the last entry that was appended with the message, once committed
	start   *a2a.Task    // the task as of seq, if a stream begins with it
	reply   *a2a.Message // a direct answer; there is no task
	err     error

	stream    bool         // set at start: the sender reads a stream
	contested bool         // set at start: other processes may take messages for the task, too
	reopen    bool         // set at start: may begin a finished task anew
	unread    atomic.Bool  // the task ended before the agent took the message
	fate      *wake.Signal // set at start: given when the agent takes the message, or never will; nil: nobody wants to know
	held      bool         // the agent gets it once it is committed; protected by the owner
	over      atomic.Int64 // seq of the newest end that was not this message's: see owner.next
}

// from is what a message brings along besides itself.
type from struct {
	caller      a2a.Caller
	accepted    []string
	metadata    a2a.JSON
	credentials bool   // the message was, and is not kept
	call        string // that waits for the task, if it is traced: see a2a.Received.Call
}

// received is the part of from that is kept in the log.
func (f *from) received() *a2a.Received {
	if len(f.accepted) == 0 && len(f.caller.Extensions) == 0 && len(f.metadata) == 0 && f.caller.Hops == 0 && f.caller.Trace == "" && !f.credentials {
		return nil
	}
	return &a2a.Received{
		AcceptedOutputModes: f.accepted, Extensions: f.caller.Extensions, Metadata: f.metadata,
		Hops: f.caller.Hops, Trace: f.caller.Trace, TraceState: f.caller.TraceState, Credentials: f.credentials, Call: f.call,
	}
}

// recall makes a from of what the log kept. Scopes are not kept: they may
// have been revoked meanwhile.
func recall(key store.Key, r *a2a.Received) from {
	_, tenant := AgentOf(key.Tenant)
	f := from{caller: a2a.Caller{Subject: key.Owner, Tenant: tenant}}
	if r != nil {
		f.caller.Extensions, f.accepted, f.metadata = r.Extensions, r.AcceptedOutputModes, r.Metadata
		f.caller.Hops, f.caller.Trace, f.caller.TraceState, f.credentials = r.Hops, r.Trace, r.TraceState, r.Credentials
		f.call = r.Call
	}
	return f
}

func newPost(m *a2a.Message, f from) *post {
	return &post{message: m, from: f}
}
