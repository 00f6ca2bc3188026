package a2aserver

import (
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// receiveRequest reads the call's request.
func (x *grpcCall) receiveRequest() (any, error) {
	in := &received{}
	if err := x.s.receive(x.to, in, x.box.line, x.hold); err != nil {
		if status.Code(err) == codes.ResourceExhausted || x.ctx.Err() != nil {
			return nil, err // too large, or the client has disconnected
		}
		return nil, x.noMessage(err)
	}
	m := x.binding.NewRequest(x.op)
	if err := x.decode(in.data, m); err != nil {
		return nil, x.noMessage(err)
	}
	return x.binding.DecodeRequest(x.op, m)
}

// decode reads a message and frees its buffers. The codec must not decode, because
// grpc-go would answer its error itself: as an internal one, in the decoder's words.
func (x *grpcCall) decode(data mem.BufferSlice, m proto.Message) error {
	defer data.Free()
	if data.Len() > large && x.s.memory != nil {
		if err := x.s.turns.Enter(x.ctx, x.key()); err != nil {
			return err
		}
		defer x.s.turns.Leave()
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	if b.Len() > unchecked {
		if err := dialect.CheckProto(m, b.ReadOnlyData()); err != nil {
			return err
		}
	}
	return proto.Unmarshal(b.ReadOnlyData(), m)
}

// noMessage returns the error for a request that cannot be read. An *a2a.Error stays as
// it is.
func (x *grpcCall) noMessage(err error) error {
	if e := (*a2a.Error)(nil); errors.As(err, &e) {
		return e
	}
	return &a2a.Error{Code: a2a.CodeParse, Message: "the request is no message of " + x.binding.Service(), Cause: err}
}

var errSlow = a2a.Errorf(a2a.CodeInvalidRequest, "the request did not arrive in full within %v", bodyTimeout)

// receive waits for a message of a stream on l, no longer than over HTTP. hold counts a
// large one. grpc-go has no time limits, so another goroutine waits for the message;
// the end of the handler ends it. Inside of net/http there is no line, and the body has
// its limits.
func (s *Server) receive(stream grpc.ServerStream, in any, l *line, hold *budget.Hold) error {
	if l == nil {
		return stream.RecvMsg(in)
	}
	began, before := time.Now(), l.Received()
	done := apart(func() error { return stream.RecvMsg(in) })
	tick := time.NewTicker(requestTick)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		// grpc-go does not say how much of the message has arrived. It cannot be more
		// than the connection has received since, so a slow request needs memory as a
		// large one as soon as it may be one.
		switch {
		case time.Since(began) >= bodyTimeout:
			return errSlow
		case l.Received()-before > large && !hold.Try(bodyCost*s.opts.maxBody()):
			return errFull
		}
	}
}

// apart runs f in a goroutine of its own, and gives its error to a caller that may not
// wait for it that long. A panic becomes an error.
func apart(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- panicError(v)
			}
		}()
		done <- f()
	}()
	return done
}

// requestTick is how often to check on a request that has not arrived over gRPC.
const requestTick = 2 * time.Second

// received is a request as it arrived. The call decodes it, because the goroutine that
// waits for it is a new one, whose stack would have to grow.
type received struct{ data mem.BufferSlice }

// requestCodec is the codec of protocol buffers that also handles received and
// outgoing.
type requestCodec struct{ encoding.CodecV2 }

func (c requestCodec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	data.Ref()
	in.data = data
	return nil
}

// unchecked is the size in bytes up to which a request cannot fill memory with many
// small elements, so that it needs no check.
const unchecked = 64 << 10

func (c requestCodec) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := v.(*outgoing)
	switch {
	case !ok:
		return c.CodecV2.Marshal(v)
	case out.box.line == nil:
		return c.CodecV2.Marshal(out.message)
	}
	return out.box.encode(out.message)
}
