package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// v03GRPC is version 0.3 over gRPC. The JSON of its messages has the form of HTTP+JSON,
// so that codec does the work, except where it takes too long: see v03PB and sendOfV03PB.
// Protocol buffers lose what v1GRPC lists.
type v03GRPC struct{}

var v03Proto = v03Codec{formProto}

func (v03GRPC) Service() string { return GRPCServiceV03 }

// Method returns the names in the proto, which are those of 1.0 except for these. The
// specification's text has others, which nobody uses.
func (v03GRPC) Method(op Op) string {
	switch op {
	case ListTasks:
		return "" // not in the proto
	case SubscribeToTask:
		return "TaskSubscription"
	case ListTaskPushNotificationConfigs:
		return "ListTaskPushNotificationConfig"
	case GetExtendedAgentCard:
		return "GetAgentCard"
	}
	return op.String()
}

var v03Messages = messagesOf(v03.File_internal_pb_v03_a2a_proto, v03GRPC{}.Method)

func (v03GRPC) NewRequest(op Op) proto.Message { return v03Messages[op].request.New().Interface() }
func (v03GRPC) NewResult(op Op) proto.Message  { return v03Messages[op].result.New().Interface() }

func (v03GRPC) DecodeRequest(op Op, m proto.Message) (any, error) {
	if send, ok := m.(*v03.SendMessageRequest); ok {
		if req := sendOfV03PB(send); req != nil {
			return req, nil
		}
	}
	doc, err := toJSON(m)
	if err != nil { // a number or a timestamp that JSON does not have, or a value of no kind
		return nil, a2a.Invalid("request", "holds a value that JSON does not have, such as NaN or a timestamp before the year 1")
	}
	return v03Proto.DecodeRequest(op, doc)
}

func (g v03GRPC) Request(op Op, req any) (proto.Message, error) {
	m := g.NewRequest(op)
	return m, fromJSON(v03Proto.AppendRequest(nil, op, req), m)
}

func (g v03GRPC) Result(op Op, req, result any) (proto.Message, error) {
	if card, ok := result.(*a2a.AgentCard); ok {
		m := new(v03.AgentCard)
		err := fromJSON(AppendCard(nil, card, cardV03GRPC), m)
		m.ProtocolVersion = "0.3.0" // 0.2 has no gRPC
		return m, err
	}
	if m, err := v03ResultPB(result); m != nil || err != nil {
		return m, err
	}
	m := g.NewResult(op)
	return m, fromJSON(v03Proto.AppendResult(nil, op, req, result), m)
}

func (v03GRPC) DecodeResult(op Op, req any, m proto.Message) (any, error) {
	if card, ok := m.(*v03.AgentCard); ok {
		card.ProtocolVersion = cmp.Or(card.ProtocolVersion, V03.Version()) // the default of its schema
	}
	doc, err := toJSON(m)
	if err != nil {
		return nil, unreadable(op, err)
	}
	return v03Proto.DecodeResult(op, req, doc)
}

func (v03GRPC) Events(Op, any) GRPCEvents { return &v03GRPCEvents{v03Events{codec: v03Proto}} }

func (v03GRPC) DecodeEvent(op Op, req any, m proto.Message) ([]*a2a.StreamResponse, error) {
	doc, err := toJSON(m)
	if err != nil {
		return nil, unreadable(op, err)
	}
	els, err := v03Proto.DecodeEvent(op, req, doc)
	if n := len(els); n > 0 {
		els[n-1].Seq = m.(*v03.StreamResponse).GetSeq()
	}
	return els, err
}

type v03GRPCEvents struct{ v03Events }

func (e *v03GRPCEvents) Messages(el *a2a.StreamResponse) ([]proto.Message, error) {
	e.note(el)
	m, err := v03ElementPB(el, e.ended)
	if m == nil || err != nil {
		return nil, err
	}
	return []proto.Message{m}, nil
}

// toJSON writes a message. protojson adds blanks at random, but values in the message
// are a user's and should look the same each time. Of a card the flags that are false
// are written, too, because a card may also leave them open.
func toJSON(m proto.Message) ([]byte, error) {
	_, card := m.(*v03.AgentCard)
	doc, err := protojson.MarshalOptions{EmitDefaultValues: card}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, doc)
	return out.Bytes(), err
}

// fromJSON fills a message. JSON values from a client or an agent may be valid and yet
// fit no message, such as equal keys or 1e999: the nearest value that fits takes their
// place.
func fromJSON(doc []byte, m proto.Message) error {
	o := protojson.UnmarshalOptions{DiscardUnknown: true}
	if len(doc) == 0 || o.Unmarshal(doc, m) == nil {
		return nil // nothing is the empty message
	}
	near, err := appendValue(nil, valuePB(doc), resultDepth)
	if err == nil {
		err = o.Unmarshal(near, m)
	}
	if err != nil {
		return &a2a.Error{Code: a2a.CodeInternal, Message: "this cannot be written as a protocol buffer", Cause: err}
	}
	return nil
}
