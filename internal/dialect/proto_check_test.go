package dialect

import (
	"bytes"
	"errors"
	"strings"
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

func TestAnswersOfTooManyValues(t *testing.T) {
	data := func(n int) []*a2a.Part { // n lists, and the one around them
		return []*a2a.Part{a2a.DataPart(a2a.JSON("[" + strings.Repeat("[],", n-1) + "0]"))}
	}
	half := maxProtoValues / 4 // each list counts as itself and its comma
	task := func(n int) *a2a.Task {
		return &a2a.Task{
			History:   []*a2a.Message{{Parts: data(n)}},
			Artifacts: []*a2a.Artifact{{Parts: data(n)}},
		}
	}
	quoted := a2a.JSON(`["\"` + strings.Repeat("[,{", maxProtoValues) + `\\"]`)
	for name, tt := range map[string]struct {
		result any
		ok     bool
	}{
		"nothing":            {nil, true},
		"a direct answer":    {&a2a.SendMessageResponse{Message: &a2a.Message{Parts: data(half)}}, true},
		"a task":             {task(half), true},
		"too large":          {task(2 * half), false},
		"sent":               {&a2a.SendMessageResponse{Task: task(2 * half)}, false},
		"together":           {&a2a.ListTasksResponse{Tasks: []*a2a.Task{task(half), task(half)}}, false},
		"a first element":    {&a2a.StreamResponse{Task: task(2 * half)}, false},
		"a status":           {&a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{Message: &a2a.Message{Parts: data(3 * half)}}}}, false},
		"an artifact":        {&a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{Artifact: &a2a.Artifact{Parts: data(3 * half)}}}, false},
		"a timeline":         {&a2a.Task{Timeline: []*a2a.TimelineEntry{{Message: &a2a.Message{Parts: data(2 * half)}}, {Status: &a2a.TaskStatus{Message: &a2a.Message{Parts: data(2 * half)}}}}}, false},
		"questions":          {&a2a.Task{Elicitations: []*a2a.Elicitation{{Metadata: a2a.JSON(`{"a":[` + strings.Repeat("0,", 4*half) + `0]}`)}}}, false},
		"a client's message": {&a2a.StreamResponse{MessageUpdate: &a2a.TaskMessageUpdateEvent{Message: &a2a.Message{Parts: data(3 * half)}}}, false},
		"metadata":           {&a2a.Task{Metadata: a2a.JSON(`{"a":` + strings.Repeat("[", 3*half) + strings.Repeat("]", 3*half) + `}`), Status: a2a.TaskStatus{}}, true},
		"what text says":     {&a2a.Task{Metadata: quoted}, true},
		"a list of configs":  {&a2a.ListTaskPushNotificationConfigsResponse{}, true},
	} {
		_, err := GRPCOf(V11).Result(GetTask, nil, tt.result)
		var e *a2a.Error
		if (err == nil) != tt.ok || err != nil && (!errors.As(err, &e) || e.Code != a2a.CodeTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := GRPCOf(V03).Result(GetTask, nil, task(2*half)); !errors.Is(err, &a2a.Error{Code: a2a.CodeTooLarge}) {
		t.Errorf("a task in 0.3: %v", err)
	}
	deep := &a2a.Task{Metadata: a2a.JSON(`{"a":` + strings.Repeat("[", a2a.MaxDepth) + strings.Repeat("[],", maxProtoValues) + "0" + strings.Repeat("]", a2a.MaxDepth) + "}")}
	if _, err := GRPCOf(V03).Result(GetTask, nil, deep); !errors.Is(err, &a2a.Error{Code: a2a.CodeTooLarge}) {
		t.Errorf("a deep task in 0.3: %v", err)
	}
	if _, err := GRPCOf(V03).Events(SubscribeToTask, nil).Messages(&a2a.StreamResponse{Task: task(2 * half)}); !errors.Is(err, &a2a.Error{Code: a2a.CodeTooLarge}) {
		t.Errorf("an element in 0.3: %v", err)
	}
}
