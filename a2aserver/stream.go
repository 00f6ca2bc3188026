package a2aserver

import (
	"context"
	"errors"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/dialect"
)

// streamChunk is the size, in bytes, from which events are written without gathering
// more.
const streamChunk = 64 << 10

// stream answers with server-sent events. An error is returned if there was
// one before the first event: then it is an ordinary answer (DIALECTS 4.5).
//
// The handler's goroutine ranges over the service's iterator itself, and waits
// in it. A timer takes care of keep-alives and time limits meanwhile.
func (x *httpCall) stream(op dialect.Op, req any) error {
	ctx, cancel := x.s.untilCanceled(x.ctx, &x.request)
	defer cancel()
	s := &sse{httpCall: x, events: x.codec.Events(op, req), hangUp: cancel}
	s.attend()
	defer s.release()
	s.until = ctx
	s.read(dialect.Stream(ctx, x.s.svc, op, req))
	return s.early
}

// read writes what seq yields. A panic of the service becomes an error of its stream,
// as it would in a goroutine of its own; a panic of ours does not.
func (s *sse) read(seq iter.Seq2[*a2a.StreamResponse, error]) {
	defer s.failed()
	seq(s.next) // a range loop would allocate the variables that its body shares with us
	if !s.over {
		s.next(nil, nil)
	}
}

// reading is the state of read.
type reading struct {
	until context.Context // ends when we leave the stream
	ours  bool            // the goroutine is in our code
	over  bool            // the stream is over
	early error           // see take
}

// next takes what the service yields.
func (s *sse) next(res *a2a.StreamResponse, err error) bool {
	if s.over {
		panic("the service's stream continued after its end")
	}
	s.ours = true
	err = inWords(err, errBusy)
	if dialect.EncodedSize(res) > large { // a comment may be written meanwhile: the mutex is not held
		if full := s.makeRoom(s.until, res); full != nil {
			res, err = nil, full
		}
	}
	more, early := s.take(s.until, res, err)
	s.over, s.early, s.ours = !more, early, false
	return more
}

// failed is deferred by read.
func (s *sse) failed() {
	if s.ours {
		return
	}
	if v := recover(); v != nil && s.over {
		s.report(panicError(v)) // there is nobody to tell
	} else if v != nil {
		s.next(nil, panicError(v))
	}
}

var errNothing = errors.New("the service's stream ended without an element")

// take writes an element, or the end of the stream: with a failure or, if there is
// neither, without. It returns whether the stream goes on. early is an error for an
// ordinary answer.
func (s *sse) take(ctx context.Context, res *a2a.StreamResponse, failure error) (more bool, early error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.closed = s.closed || early != nil }() // no comment opens the stream before the answer
	first := !s.begun && s.out == nil
	switch {
	case s.closed:
		s.audit.Outcome = audit.Left
		return false, nil
	case ctx.Err() != nil:
		// We leave: the client has disconnected, the server drains, or the credentials
		// are no longer good.
		if first {
			return false, context.Cause(ctx)
		}
		s.leave(ctx)
		s.flush(true)
		return false, nil
	case failure != nil && first:
		return false, failure
	case failure != nil:
		e := s.report(failure)
		s.fails(e)
		s.appendFailure(e)
		s.flush(true)
		return false, nil
	case res == nil && first:
		return false, errNothing
	case res == nil:
		s.audit.Outcome = audit.OK
		s.flush(true)
		return false, nil
	}
	s.append(res)
	s.result(res)
	s.audit.Succeed(s.ctx)
	if s.events.Ended() {
		s.audit.Outcome = audit.OK
		s.flush(true)
		return false, nil
	}
	if res.More && s.out != nil && len(*s.out) < streamChunk {
		return true, nil
	}
	return s.flush(false), nil
}
