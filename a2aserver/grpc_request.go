package a2aserver

import (
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// receiveRequest reads the call's request.
func (x *grpcCall) receiveRequest() (any, error) {
	in := &received{message: x.binding.NewRequest(x.op), x: x}
	if err := x.receive(in); err != nil {
		if status.Code(err) == codes.ResourceExhausted || x.ctx.Err() != nil {
			return nil, err // too large, or the client is gone
		}
		if err == errSlow || err == errFull {
			return nil, err
		}
		in.err = err // there is none
	}
	if e := (*a2a.Error)(nil); errors.As(in.err, &e) {
		return nil, e
	}
	if in.err != nil {
		return nil, &a2a.Error{Code: a2a.CodeParse, Message: "the request is no message of " + x.binding.Service(), Cause: in.err}
	}
	return x.binding.DecodeRequest(x.op, in.message)
}

var errSlow = a2a.Errorf(a2a.CodeInvalidRequest, "the request did not arrive in full within %v", bodyTimeout)

// receive waits for the request, and not for longer than over HTTP. grpc-go has
// no time limits, so who waits for it is another goroutine, which the end of the
// handler ends. Inside of net/http the body has its limit.
//
// Nor does grpc-go say how much has come of a request. What the connection has
// brought since bounds it, so that a request that takes its time needs room among
// the large ones once it may be one.
func (x *grpcCall) receive(in *received) error {
	line := x.box.line
	if line == nil {
		return x.to.RecvMsg(in)
	}
	before := line.Received()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- panicError(v)
			}
		}()
		done <- x.to.RecvMsg(in)
	}()
	began := time.Now()
	t := time.NewTimer(requestTick)
	defer t.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-t.C:
		}
		if time.Since(began) >= bodyTimeout {
			return errSlow
		}
		if line.Received()-before > large && !x.hold.Try(bodyCost*x.s.opts.maxBody()) {
			return errFull
		}
		t.Reset(requestTick)
	}
}

// requestTick is how often to look at a request that has not arrived over gRPC.
const requestTick = 2 * time.Second

// received is a request, or the reason why it could not be decoded. What its
// codec returned as an error grpc-go would answer itself, as an internal one
// and with the decoder's words.
type received struct {
	message proto.Message
	err     error

	x *grpcCall
}

// requestCodec is the codec of protocol buffers, of received and of outgoing.
type requestCodec struct{ encoding.CodecV2 }

func newRequestCodec() encoding.CodecV2 { return requestCodec{encoding.GetCodecV2(protocodec.Name)} }

func (c requestCodec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data.Len() > large && in.x.s.memory != nil {
		if in.err = in.x.s.turns.Enter(in.x.ctx, in.x.key()); in.err != nil {
			return nil
		}
		defer in.x.s.turns.Leave()
	}
	if data.Len() > unchecked {
		b := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer b.Free()
		if in.err = dialect.CheckProto(in.message, b.ReadOnlyData()); in.err != nil {
			return nil
		}
	}
	in.err = c.CodecV2.Unmarshal(data, in.message)
	return nil
}

// unchecked is how large a request may be, in bytes, that cannot fill memory
// with many small things.
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
