package dialect

import (
	"math"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Names of the gRPC services: of version 1.0 with the 1.1 draft (§10.1), and
// of 0.3. A method's path is /service/method.
const (
	GRPCService    = "lf.a2a.v1.A2AService"
	GRPCServiceV03 = "a2a.v1.A2AService"
)

// GRPC is the gRPC binding of a dialect, for both sides. It has no state and
// may be used concurrently. Positions of a stream's elements are not in the
// messages; see WithSeq.
type GRPC interface {
	Service() string
	// Method returns the name of an operation's method, "" if there is none.
	Method(op Op) string
	// NewRequest returns an empty request message.
	NewRequest(op Op) proto.Message
	// NewResult returns an empty message of the result's type, or of a
	// stream's elements.
	NewResult(op Op) proto.Message

	// DecodeRequest reads a request as Codec does. The error is InvalidParams
	// and names the fields.
	DecodeRequest(op Op, m proto.Message) (any, error)
	// Request is the inverse of DecodeRequest.
	Request(op Op, req any) (proto.Message, error)
	// Result makes the answer to req from what Call returns.
	Result(op Op, req, result any) (proto.Message, error)
	// DecodeResult reads an answer. The error is InvalidAgentResponse.
	DecodeResult(op Op, req any, m proto.Message) (any, error)

	// Events returns the GRPCEvents of the stream that answers req.
	Events(op Op, req any) GRPCEvents
	// DecodeEvent reads a message of the stream that answers req, as Codec
	// does.
	DecodeEvent(op Op, req any, m proto.Message) ([]*a2a.StreamResponse, error)
}

// GRPCEvents is Events for messages. It belongs to one goroutine.
type GRPCEvents interface {
	// Messages returns the messages that an element becomes: usually one.
	Messages(el *a2a.StreamResponse) ([]proto.Message, error)
	// Ended reports whether the last message said that it is the last.
	Ended() bool
}

// GRPCOf returns the gRPC binding of a dialect; nil if it has none.
func GRPCOf(d Dialect) GRPC {
	switch d {
	case V03:
		return v03GRPC{}
	case V10:
		return v1GRPC{}
	case V11:
		return v1GRPC{v1Codec{draft: true}}
	}
	return nil
}

// GRPCServices are the dialects that a server registers a service for; a call may be in
// a later dialect of the same service. See DetectGRPC.
var GRPCServices = []Dialect{V10, V03}

// v1GRPC is version 1.0 and, with draft, the 1.1 draft, whose members clients of 1.0
// send, too.
//
// What protocol buffers cannot carry of an a2a value:
//
//   - JSON values (metadata, data, params, header) are kept as values, not byte
//     for byte: the order of keys, white space and the spelling of numbers are
//     lost, and of two equal keys the last one stays. Numbers are float64:
//     integers beyond 2^53 are rounded, and what is beyond the range of float64
//     becomes its largest. Half a surrogate pair becomes U+FFFD.
//   - As in JSON, timestamps are cut to milliseconds and bytes that are not
//     UTF-8 become U+FFFD.
//   - Empty lists and maps become absent, and so do members that an OAuth flow does not
//     have, such as the authorization URL of the password flow.
type v1GRPC struct{ v1Codec }

func (v1GRPC) Service() string     { return GRPCService }
func (v1GRPC) Method(op Op) string { return Get(op).Methods[V10] }

func (v1GRPC) NewRequest(op Op) proto.Message { return v1Messages[op].request.New().Interface() }
func (v1GRPC) NewResult(op Op) proto.Message  { return v1Messages[op].result.New().Interface() }

func (g v1GRPC) DecodeRequest(_ Op, m proto.Message) (any, error) {
	r := reader{depth: requestDepth}
	req := r.any(m)
	if err := r.err(); err != nil {
		return nil, err
	}
	return g.readable(req), nil
}

func (v1GRPC) Request(_ Op, req any) (proto.Message, error) {
	w := pbWriter{draft: true, valueCount: valueCount{math.MaxInt}}
	return w.any(req), nil
}

func (g v1GRPC) Result(_ Op, _, result any) (proto.Message, error) {
	if card, ok := result.(*a2a.AgentCard); ok {
		return cardPB(card)
	}
	return g.message(result)
}

// message makes the message of a result or of an element.
func (g v1GRPC) message(v any) (proto.Message, error) {
	w := pbWriter{draft: g.draft, valueCount: valueCount{maxProtoValues}}
	return w.any(v), w.err()
}

func (v1GRPC) DecodeResult(op Op, _ any, m proto.Message) (any, error) {
	r := reader{depth: resultDepth, answer: true}
	res := r.any(m)
	if err := r.err(); err != nil {
		return nil, unreadable(op, err)
	}
	return res, nil
}

func (g v1GRPC) Events(Op, any) GRPCEvents { return v1GRPCEvents{g} }

func (g v1GRPC) DecodeEvent(op Op, req any, m proto.Message) ([]*a2a.StreamResponse, error) {
	v, err := g.DecodeResult(op, req, m)
	if err != nil {
		return nil, err
	}
	return []*a2a.StreamResponse{v.(*a2a.StreamResponse)}, nil
}

type v1GRPCEvents struct{ v1GRPC }

func (e v1GRPCEvents) Messages(el *a2a.StreamResponse) ([]proto.Message, error) {
	m, err := e.message(el)
	return []proto.Message{m}, err
}

func (v1GRPCEvents) Ended() bool { return false }

// messages are the types of an operation's messages.
type messages struct{ request, result protoreflect.MessageType }

// messagesOf reads the types of messages from a service's descriptor, by operation.
// They are empty if the service lacks the method.
func messagesOf(file protoreflect.FileDescriptor, method func(Op) string) (all []messages) {
	all = make([]messages, len(Operations)+1)
	for _, o := range Operations {
		m := file.Services().Get(0).Methods().ByName(protoreflect.Name(method(o.Op)))
		if m == nil {
			continue
		}
		all[o.Op] = messages{typeOf(m.Input()), typeOf(m.Output())}
	}
	return all
}

func typeOf(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err) // generated code registers its types
	}
	return t
}

var v1Messages = messagesOf(pb.File_internal_pb_a2a_proto, v1GRPC{}.Method)

// WithSeq adds a position to an element of a stream, as a field that is not in
// the specification. Only clients that sent last-event-id get it; see SeqKey.
func WithSeq(m proto.Message, seq int64) proto.Message {
	switch m := m.(type) {
	case *pb.StreamResponse:
		m.Seq = seq
	case *v03.StreamResponse:
		m.Seq = seq
	}
	return m
}

// SeqKey is the metadata key that asks for positions in a streaming request: "0" asks
// for a stream with positions from its beginning, and a position resumes the stream
// after it, as Last-Event-ID does with server-sent events. It is our extension; servers
// that do not know it ignore it.
const SeqKey = "last-event-id"
