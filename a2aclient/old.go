package a2aclient

import (
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// sending is a message on its way, with ids for its task and context if the client must
// choose them, as in version 0.1, whose streams do not name the context if the agent
// chose it. All attempts have the same ids.
type sending struct {
	*a2a.SendMessageRequest
	taskID, contextID string

	window time.Duration // how long the agent recognizes a repeat; 0: it does not
	since  time.Time     // the first attempt

	span *operation // the span in which it is sent

	to         *face         // of the last attempt that may have reached the agent
	retryAfter time.Duration // that the last answer asked for
}

// prepare adapts a request to the face's version.
func (f *face) prepare(req any) any {
	r, ok := req.(*sending)
	switch {
	case !ok:
		return req
	case f.dialect != dialect.V01 || r.Message == nil:
		return r.SendMessageRequest
	}
	old, m := *r.SendMessageRequest, *r.Message
	if m.TaskID == "" {
		m.TaskID = r.taskID
		if m.ContextID == "" {
			m.ContextID = r.contextID
		}
	}
	if r.window > 0 && old.IdempotencyKey == "" && dialect.CheckKey(m.MessageID) {
		old.IdempotencyKey = m.MessageID // 0.1 does not carry the message id as a key
	}
	old.Message = &m
	return &old
}

// optional reports whether agents of versions before 1.0 may lack an operation: all of
// 0.1 do, and some later ones because of their patch version or their makers.
func optional(op dialect.Op) bool { return dialect.Get(op).Methods[dialect.V01] == "" }

// lacking returns UnsupportedOperation if an agent of an old version says by another
// error that it lacks an operation.
func lacking(f *face, op dialect.Op, err error) error {
	if f.dialect >= dialect.V10 || !optional(op) {
		return err
	}
	switch e := said(err); {
	case e == nil:
	case e.Code == a2a.CodeMethodNotFound, e.Code == a2a.CodeMethodNotAllowed,
		e.Code == a2a.CodeInvalidRequest && e.Peer && isJSONRPC(f): // a server of 0.1, for methods of other versions
		return &a2a.Error{
			Code: a2a.CodeUnsupportedOperation, Peer: true, Cause: err,
			Message: "the agent, which speaks A2A " + f.version + ", has no " + op.String(),
		}
	}
	return err
}

// newID makes a unique id. It begins with the time (UUIDv7), so a server that keeps ids
// in order has the new ones next to each other.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
