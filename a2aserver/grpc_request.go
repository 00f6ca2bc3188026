package a2aserver

import (
	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// request reads the call's request.
func (x *rpc) request(decode func(any) error) (any, error) {
	in := received{message: x.binding.NewRequest(x.op)}
	if err := decode(&in); err != nil {
		if status.Code(err) == codes.ResourceExhausted || x.ctx.Err() != nil {
			return nil, err // too large, or the client is gone
		}
		in.err = err // there is none
	}
	if in.err != nil {
		return nil, &a2a.Error{Code: a2a.CodeParse, Message: "the request is no message of " + x.binding.Service(), Cause: in.err}
	}
	return x.binding.DecodeRequest(x.op, in.message)
}

// received is a request, or why it is none. What its codec returned as an error
// grpc-go would answer itself, as an internal one and with the decoder's words.
type received struct {
	message proto.Message
	err     error
}

// requestCodec is the codec of protocol buffers, and of received.
type requestCodec struct{ encoding.CodecV2 }

func newRequestCodec() encoding.CodecV2 { return requestCodec{encoding.GetCodecV2(protocodec.Name)} }

func (c requestCodec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in.err = c.CodecV2.Unmarshal(data, in.message)
	return nil
}
