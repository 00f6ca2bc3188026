package a2aserver

import (
	"cmp"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/wire"
)

// sse writes events. These fields are all that it holds while a stream is
// silent.
type sse struct {
	*httpCall
	events dialect.Events
	hangUp func() // ends the service's stream
	reading

	clock   atomic.Int64   // see silence.go
	stalled atomic.Bool    // a write took too long
	helpers sync.WaitGroup // goroutines beside the handler's

	watch sync.Mutex  // protects the field below
	timer *time.Timer // for keep-alives and the time limit of writes: see silence.go; nil if it is not set

	mu     sync.Mutex // held by the writer; protects the fields below, and those of the answer
	out    *[]byte    // events to be written, of buffers; nil if there are none
	closed bool       // nobody reads any more, or the answer is no stream
	pace   port.Pace  // of the reader
}

// append adds the events that an element becomes. The last of them has its id, because
// a client that has the last one has the whole element.
func (s *sse) append(res *a2a.StreamResponse) {
	res = s.element(res)
	s.add(func(b []byte) []byte {
		if n := dialect.EncodedSize(res); n > maxPooled { // at once, not by doubling
			b = slices.Grow(b, int(n))
		}
		for i, more := 0, true; more; i++ {
			start := len(b)
			b = s.beginResult(wire.BeginEvent(b))
			empty := len(b)
			if b, more = dialect.AppendLine(b, s.events, res, i); len(b) == empty {
				b = b[:start]
				continue
			}
			id := int64(0)
			if !more && !s.plain {
				id = max(res.Seq, 0)
			}
			b = wire.EndEvent(s.endResult(b), start, id)
		}
		return b
	})
}

// appendFailure adds the event that reports an error.
func (s *sse) appendFailure(e *a2a.Error) {
	name := "error"
	if s.plain {
		name = ""
	}
	s.add(func(b []byte) []byte { return wire.AppendEvent(b, "", name, a2a.OneLine(s.appendError(nil, e))) })
}

// add lets f append to the events to be written.
func (s *sse) add(f func([]byte) []byte) {
	out := s.out
	if out == nil {
		out = buffers.Get().(*[]byte)
		*out = (*out)[:0]
	}
	*out = f(*out)
	if s.out = out; len(*out) == 0 {
		s.drop()
	}
}

// drop gives the buffer back: a silent stream needs none, and a large element must not
// occupy memory for hours.
func (s *sse) drop() {
	if s.out != nil && cap(*s.out) <= maxPooled {
		buffers.Put(s.out)
	}
	s.out = nil
}

// flush writes the gathered events, after the header if they are the first. It returns
// false if the client has disconnected or does not read. The last event goes out in one
// packet with the end that net/http writes once the handler returns.
func (s *sse) flush(last bool) bool {
	if s.out == nil {
		return true
	}
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = ofEvents, notKept, notHeldBack
		s.w.WriteHeader(http.StatusOK)
	}
	large := cap(*s.out) > maxPooled
	if large {
		s.hold.Set(int64(cap(*s.out))) // only the encoded bytes are still in memory
	}
	err := s.put(*s.out, last)
	s.drop()
	if large {
		s.hold.Close()
	}
	if err != nil {
		s.closed = true
		s.audit.Outcome = audit.Left
	}
	return err == nil
}

// Header values that nobody writes to: append copies them.
var (
	ofEvents    = []string{mediaEvents}
	notKept     = []string{"no-cache"}
	notHeldBack = []string{"no"}
)

// put writes b, and flushes it unless it is the last.
func (s *sse) put(b []byte, last bool) error {
	if s.timer == nil {
		return s.send(b) // attend was not called
	}
	for len(b) > port.WriteSize {
		began := s.begins()
		if _, err := s.w.Write(b[:port.WriteSize]); err != nil {
			return err
		}
		if !s.keepsUp(port.WriteSize, began) {
			return os.ErrDeadlineExceeded
		}
		b = b[port.WriteSize:]
	}
	began := s.begins()
	_, err := s.w.Write(b)
	if err == nil && !last {
		err = flushed(s.rc.Flush())
	}
	if !s.keepsUp(len(b), began) || s.stalled.Load() {
		err = cmp.Or(err, os.ErrDeadlineExceeded) // it came too late
	}
	return err
}
