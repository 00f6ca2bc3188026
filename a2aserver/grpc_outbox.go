package a2aserver

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

const (
	// outboxRoom is how many bytes of a call may wait to be written when a message is
	// added: less than what grpc-go takes before it blocks, because it would block for
	// as long as the connection lives.
	outboxRoom = 32 << 10
	// outboxRest is how many bytes may still wait when the call's handler returns.
	outboxRest = 4 << 10
)

var errNotRead = a2a.Errorf(a2a.CodeUnavailable, "the answer was not read in time")

// outbox tracks the messages of a call until grpc-go has written them, or has dropped
// them with their stream. Calls inside of net/http have no line and need no tracking:
// there a write waits for the client.
type outbox struct {
	line  *line
	limit time.Duration // of each write
	freed chan struct{} // a hint
	since time.Time

	// belongs to the call's goroutine
	pace port.Pace

	mu      sync.Mutex // protects the fields below
	waiting int        // bytes
}

func newOutbox(l *line, limit time.Duration) *outbox {
	return &outbox{line: l, limit: limit, freed: make(chan struct{}, 1), since: time.Now()}
}

// begin counts the call until end is called.
func (o *outbox) begin() (end func()) {
	if o.line == nil {
		return func() {}
	}
	o.line.Begin()
	return o.line.End
}

// room waits until another message can be sent. The error is that of the call, or says
// that the client does not read.
func (o *outbox) room(ctx context.Context) error { return o.wait(ctx, outboxRoom) }

// flush waits until almost nothing is left in memory.
func (o *outbox) flush(ctx context.Context) error { return o.wait(ctx, outboxRest) }

// wait waits until at most n bytes are left. The client has to take them at the least
// rate of port.Pace, which all calls of its connection share, and the connection has to
// write a piece within each time limit.
func (o *outbox) wait(ctx context.Context, n int) error {
	left := o.left()
	if left <= n {
		return nil
	}
	written, began := o.line.Written(), time.Since(o.since)
	rest := (left - n) * max(1, o.line.Calls())
	until := began + o.limit - o.pace.Behind() + o.pace.Take(rest)
	silent := time.NewTimer(min(o.limit, until-began))
	defer silent.Stop()
	for {
		select {
		case <-o.freed:
			if o.left() <= n {
				o.pace.Wrote(rest, began, time.Since(o.since))
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-silent.C:
			now, at := o.line.Written(), time.Since(o.since)
			if now-written < port.WriteSize || at >= until {
				o.line.stall()
				return errNotRead
			}
			written = now
			silent.Reset(min(o.limit, until-at))
		}
	}
}

func (o *outbox) left() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting
}

// outboxBuffers are buffers for messages. They are large enough for grpc-go to return:
// it does not tell when it has written a small one.
var outboxBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

// encode writes a message into a buffer that Put takes back.
func (o *outbox) encode(m proto.Message) (mem.BufferSlice, error) {
	p := outboxBuffers.Get().(*[]byte)
	b, err := proto.MarshalOptions{}.MarshalAppend((*p)[:0], m)
	if err != nil {
		return nil, err
	}
	*p = b
	o.mu.Lock()
	o.waiting += len(b)
	o.mu.Unlock()
	return mem.BufferSlice{mem.NewBuffer(p, o)}, nil
}

// Get implements mem.BufferPool; nothing calls it.
func (o *outbox) Get(n int) *[]byte { return new(make([]byte, n)) }

// Put takes back the buffer of a message.
func (o *outbox) Put(p *[]byte) {
	o.mu.Lock()
	o.waiting -= len(*p)
	o.mu.Unlock()
	if cap(*p) <= maxPooled {
		outboxBuffers.Put(p)
	}
	select {
	case o.freed <- struct{}{}:
	default:
	}
}

// outgoing is a message that an outbox tracks.
type outgoing struct {
	message proto.Message
	box     *outbox
}
