package dialect

import (
	"bytes"
	"errors"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// protoField wraps a message as field n of another.
func protoField(n protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), inner)
}

func TestCheckProto(t *testing.T) {
	code := func(err error) a2a.Code {
		var e *a2a.Error
		if !errors.As(err, &e) {
			return -1
		}
		return e.Code
	}
	d := new(pb.SendMessageRequest).ProtoReflect().Descriptor()
	m := d.Fields().ByName("message")
	part := m.Message().Fields().ByName("parts")
	number := func(name string) protowire.Number {
		return m.Message().Fields().ByName(protoreflect.Name(name)).Number()
	}
	in := func(n protowire.Number, inner []byte, times int) []byte {
		return protoField(m.Number(), bytes.Repeat(protoField(n, inner), times))
	}
	for name, tt := range map[string]struct {
		doc  []byte
		want a2a.Code // -1 if it passes
	}{
		"empty":                {nil, -1},
		"many parts":           {in(part.Number(), nil, maxProtoValues-1), -1},
		"too many parts":       {in(part.Number(), nil, maxProtoValues), a2a.CodeTooLarge},
		"too many short texts": {in(number("reference_task_ids"), nil, maxProtoValues), a2a.CodeTooLarge},
		"cut":                  {[]byte{0x0a, 0x7f, 1}, -1},
		"unknown":              {bytes.Repeat(protoField(1000, nil), maxProtoValues+1), -1},
	} {
		if got := code(CheckProto(new(pb.SendMessageRequest), tt.doc)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}

	// A list in a list in a list.
	v := structpb.NewNullValue()
	for range maxProtoDepth {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	doc, err := proto.Marshal(&pb.Part{Content: &pb.Part_Data{Data: v}})
	if err != nil {
		t.Fatal(err)
	}
	if got := code(CheckProto(new(pb.SendMessageRequest), in(part.Number(), doc, 1))); got != a2a.CodeInvalidParams {
		t.Errorf("deep: %v", got)
	}
}

func FuzzCheckProto(f *testing.F) {
	f.Add([]byte{0x0a, 0x00})
	f.Add(bytes.Repeat([]byte{0x12, 0x02, 0x2a, 0x00}, 10))
	f.Fuzz(func(t *testing.T, doc []byte) {
		m := new(pb.SendMessageRequest)
		if err := CheckProto(m, doc); err != nil && proto.Unmarshal(doc, m) == nil && len(doc) < maxProtoValues {
			t.Fatalf("a small message is refused: %v", err)
		}
	})
}
