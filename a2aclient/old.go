package a2aclient

import (
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// sending is a message on its way, with the ids for its task and its context in
// case that the client has to choose them: in version 0.1, whose streams do not
// tell the context if somebody else did. All attempts have the same.
type sending struct {
	*a2a.SendMessageRequest
	taskID, contextID string

	window time.Duration // how long it is known when it comes again; 0: it is not
	since  time.Time     // the first attempt

	span *operation // that it is sent in

	to         *face         // of the last attempt that may have come through
	retryAfter time.Duration // that the last answer asked for
}

// prepare makes a request one of the face's version.
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
		old.IdempotencyKey = m.MessageID // which 0.1 does not carry
	}
	old.Message = &m
	return &old
}

// optional reports whether agents of versions before 1.0 may lack an operation: 0.1
// does, and later ones in some patch or because their makers left it out.
func optional(op dialect.Op) bool { return dialect.Get(op).Methods[dialect.V01] == "" }

// lacking says UnsupportedOperation where an agent of an old version lets us
// know in other ways that it lacks an operation.
func lacking(f *face, op dialect.Op, err error) error {
	if f.dialect >= dialect.V10 || !optional(op) {
		return err
	}
	switch e := said(err); {
	case e == nil:
	case e.Code == a2a.CodeMethodNotFound, e.Code == a2a.CodeMethodNotAllowed,
		e.Code == a2a.CodeInvalidRequest && e.Peer && isJSONRPC(f): // a server of 0.1, to methods of others
		return &a2a.Error{
			Code: a2a.CodeUnsupportedOperation, Peer: true, Cause: err,
			Message: "the agent, which speaks A2A " + f.version + ", has no " + op.String(),
		}
	}
	return err
}

// newID makes an id that nobody else has. It begins with the time (UUIDv7), so a server
// that keeps the ids of messages in order has the new ones beside each other.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
