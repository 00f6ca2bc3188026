package a2aserver

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

const (
	// outboxRoom is how much of a call may wait to be written when a message is
	// added, in bytes: less than what grpc-go takes before it blocks, which it
	// would do for as long as the connection lives.
	outboxRoom = 32 << 10
	// outboxRest is how much may still wait when the call's handler returns.
	outboxRest = 4 << 10
)

var errNotRead = a2a.Errorf(a2a.CodeUnavailable, "the answer was not read for too long")

// outbox follows the messages of a call until grpc-go has written them, or has
// given them up with their stream. Calls inside of net/http, which have no line,
// need none of it: there a write waits for the client.
type outbox struct {
	line  *line
	limit time.Duration // for writeSize bytes
	freed chan struct{} // a hint

	mu      sync.Mutex // protects the fields below
	waiting int        // bytes
}

func newOutbox(l *line, limit time.Duration) *outbox {
	return &outbox{line: l, limit: limit, freed: make(chan struct{}, 1)}
}

// begin counts the call; what it returns ends that.
func (o *outbox) begin() (end func()) {
	if o.line == nil {
		return func() {}
	}
	o.line.calls.Add(1)
	return func() { o.line.calls.Add(-1) }
}

// room waits until another message can be sent. The error is that of the call,
// or says that its client does not read.
func (o *outbox) room(ctx context.Context) error { return o.wait(ctx, outboxRoom) }

// flush waits until next to nothing is left in memory.
func (o *outbox) flush(ctx context.Context) error { return o.wait(ctx, outboxRest) }

// wait waits until at most n bytes are left. Each writeSize bytes may take their
// time, as long as something is written at all.
func (o *outbox) wait(ctx context.Context, n int) error {
	left := o.left()
	if left <= n {
		return nil
	}
	written, began := o.line.written.Load(), time.Now()
	silent := time.NewTimer(o.limit)
	defer silent.Stop()
	for {
		select {
		case <-o.freed:
			if left = o.left(); left <= n {
				return nil
			}
			began = time.Now()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-silent.C:
			now := o.line.written.Load()
			if now-written < writeSize || time.Since(began) > o.limit*time.Duration(1+left/writeSize) {
				o.line.stall()
				return errNotRead
			}
			written = now
		}
		silent.Reset(o.limit)
	}
}

func (o *outbox) left() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting
}

// outboxBuffers are those of messages. grpc-go does not say of small ones when
// it has written them, so none are.
var outboxBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

// encode writes a message into a buffer that comes back by Put.
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

// Get is what a mem.BufferPool has and nobody calls.
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

// outgoing is a message that an outbox follows.
type outgoing struct {
	message proto.Message
	box     *outbox
}
