package a2aserver

import (
	"context"
	"errors"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// streamChunk is the size, in bytes, from which a write is not gathered further.
const streamChunk = 64 << 10

// stream answers with server-sent events. An error is returned if there was
// one before the first event: then it is an ordinary answer (DIALECTS 4.5).
//
// The handler's goroutine ranges over the service's iterator itself, and waits
// in it. What has to happen meanwhile is on the server's agenda.
func (x *exchange) stream(op dialect.Op, req any) error {
	ctx, cancel := x.s.untilLeft(x.ctx, x.r)
	defer cancel()
	s := &sse{exchange: x, events: x.events(op, req), hangUp: cancel}
	s.watch()
	defer s.unwatch()
	return s.read(ctx, dialect.Stream(ctx, x.s.svc, op, req))
}

// read writes what seq yields. A panic of the service is an error of its stream,
// as it would be in a goroutine of its own; one of ours is not.
func (s *sse) read(ctx context.Context, seq iter.Seq2[*a2a.StreamResponse, error]) (early error) {
	ours, over := false, false
	defer func() {
		if ours {
			return
		}
		v := recover()
		if v == nil {
			return
		}
		if err := panicError(v); over {
			s.report(err) // there is nobody to tell
		} else {
			_, early = s.take(ctx, nil, err)
		}
	}()
	for res, err := range seq {
		ours = true
		var more bool
		more, early = s.take(ctx, res, err)
		if over = !more; over {
			ours = false
			return early
		}
		ours = false
	}
	over, ours = true, true
	_, early = s.take(ctx, nil, nil)
	return early
}

var errNothing = errors.New("the service's stream ended without an element")

// take writes an element, or how the stream ends: with an error, or, if there is
// neither, as it should. It returns whether the stream goes on. An error is for
// an ordinary answer.
func (s *sse) take(ctx context.Context, res *a2a.StreamResponse, failure error) (more bool, early error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.begun && s.out == nil
	switch {
	case s.gone:
		s.audit.outcome = auditLeft
		return false, nil
	case ctx.Err() != nil:
		// We leave: the client is gone, or the server drains, or its credentials
		// are not good any more.
		if first {
			return false, context.Cause(ctx)
		}
		s.leave(ctx)
		s.flush()
		return false, nil
	case failure != nil && first:
		return false, failure
	case failure != nil:
		e := s.report(failure)
		s.audit.fails(s.ctx, e)
		s.appendFailure(e)
		s.flush()
		return false, nil
	case res == nil && first:
		return false, errNothing
	case res == nil:
		s.audit.outcome = auditOK
		s.flush()
		return false, nil
	}
	s.append(res)
	s.audit.gives(res)
	s.audit.succeeds(s.ctx)
	if s.events.Ended() {
		s.audit.outcome = auditOK
		s.flush()
		return false, nil
	}
	if res.More && s.out != nil && len(*s.out) < streamChunk {
		return true, nil
	}
	return s.flush(), nil
}
