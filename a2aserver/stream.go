package a2aserver

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

const (
	// streamAhead is how many elements may wait between the service and the
	// connection. They are gathered into one write.
	streamAhead = 64
	// streamChunk is the size, in bytes, from which a write is not gathered
	// further.
	streamChunk = 64 << 10
)

// element is what the iterator of a stream yields.
type element struct {
	res *a2a.StreamResponse
	err error
}

// stream answers with server-sent events. An error is returned if there was
// one before the first event: then it is an ordinary answer (DIALECTS 4.5).
func (x *exchange) stream(op dialect.Op, req any) error {
	ctx, cancel := x.s.untilLeft(x.ctx, x.r)
	elements := make(chan element, streamAhead)
	go pump(ctx, dialect.Stream(ctx, x.s.svc, op, req), elements)
	defer func() {
		cancel()
		for range elements { // until the pump has gone
		}
	}()

	s := &sse{exchange: x, events: x.events(op, req)}
	silent := time.NewTimer(x.s.opts.keepAlive())
	defer silent.Stop()
	for {
		select {
		case el, ok := <-elements:
			more, err := s.gather(ctx, el, ok, elements)
			if err != nil {
				return err
			}
			if !s.flush() || !more {
				return nil
			}
		case <-silent.C:
			// Also before the first element: what is on the way would hang
			// up. Errors after it go into the stream.
			s.out = append(s.out, wire.KeepAlive...)
			if s.plain {
				s.out = append(s.out, '\n') // or it would be a part of the next event
			}
			if !s.flush() {
				return nil
			}
		case <-ctx.Done():
			if !x.begun {
				return context.Cause(ctx)
			}
			s.leave(ctx)
			s.flush()
			return nil
		}
		silent.Reset(x.s.opts.keepAlive())
	}
}

// pump moves a stream's elements into the channel until there are no more or
// ctx ends, and closes it.
func pump(ctx context.Context, seq iter.Seq2[*a2a.StreamResponse, error], to chan<- element) {
	defer close(to)
	send := func(el element) bool {
		select {
		case to <- el:
			return true
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		if v := recover(); v != nil {
			send(element{err: panicError(v)})
		}
	}()
	for res, err := range seq {
		if !send(element{res, err}) || err != nil {
			return
		}
	}
}

// sse writes events. Its buffers live as long as the stream.
type sse struct {
	*exchange
	events dialect.Events
	out    []byte // events to be written
	json   []byte // one event
}

// gather appends an element and those that wait behind it. ok is false if
// there are no more elements. An error is for an ordinary answer; more says
// whether the stream goes on.
func (s *sse) gather(ctx context.Context, el element, ok bool, waiting <-chan element) (more bool, err error) {
	for {
		first := !s.begun && len(s.out) == 0
		switch {
		case ctx.Err() != nil && (!ok || el.err != nil):
			// We left: the client is gone, or the server drains.
			if first {
				return false, context.Cause(ctx)
			}
			s.leave(ctx)
			return false, nil
		case !ok && first:
			return false, errNothing
		case !ok:
			s.audit.outcome = auditOK
			return false, nil
		case el.err != nil && first:
			return false, el.err
		case el.err != nil:
			e := s.report(el.err)
			s.audit.fails(s.ctx, e)
			s.appendFailure(e)
			return false, nil
		}
		s.append(el.res)
		s.audit.gives(el.res)
		s.audit.succeeds(s.ctx)
		if s.events.Ended() {
			s.audit.outcome = auditOK
			return false, nil
		}
		if len(s.out) >= streamChunk {
			return true, nil
		}
		select {
		case el, ok = <-waiting:
		default:
			return true, nil
		}
	}
}

var errNothing = errors.New("the service's stream ended without an element")

// append writes the events that an element becomes. The last of them has its
// id: whoever got that one has got all of it.
func (s *sse) append(res *a2a.StreamResponse) {
	res = s.element(res)
	for i, more := 0, true; more; i++ {
		s.json = s.beginEvent(s.json[:0])
		empty := len(s.json)
		if s.json, more = s.events.Append(s.json, res, i); len(s.json) == empty {
			continue
		}
		s.json = s.endEvent(s.json)
		id := ""
		if !more && res.Seq > 0 && !s.plain {
			id = strconv.FormatInt(res.Seq, 10)
		}
		s.out = wire.AppendEvent(s.out, id, "", oneLine(s.json))
	}
}

// appendFailure writes the event that tells an error.
func (s *sse) appendFailure(e *a2a.Error) {
	name := "error"
	if s.plain {
		name = ""
	}
	s.json = s.appendError(s.json[:0], e)
	s.out = wire.AppendEvent(s.out, "", name, oneLine(s.json))
}

// oneLine replaces line breaks by blanks, in place. In JSON they can only be
// outside of strings: in the raw values that clients and agents sent. One
// event is then one data line, which is all that simple readers understand.
func oneLine(json []byte) []byte {
	for _, c := range []byte{'\n', '\r'} {
		for b := json; ; {
			i := bytes.IndexByte(b, c)
			if i < 0 {
				break
			}
			b[i] = ' '
			b = b[i+1:]
		}
	}
	return json
}

// flush writes what was gathered, with the header before the first event. It
// returns false if the client is gone or does not read.
func (s *sse) flush() bool {
	if len(s.out) == 0 {
		return true
	}
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", mediaEvents)
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	}
	err := s.send(s.out)
	if err != nil {
		s.audit.outcome = auditLeft
	}
	s.out = s.out[:0]
	if cap(s.out) > maxPooled {
		s.out = nil // one large element must not occupy memory for hours
	}
	if cap(s.json) > maxPooled {
		s.json = nil
	}
	return err == nil
}
