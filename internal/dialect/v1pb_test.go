package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// random fills a value of package a2a. JSON values, timestamps, states and parts are
// valid ones; of alternatives one is set.
func random(r *rand.Rand, v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *a2a.JSON:
		*x = nil
		if r.IntN(2) == 0 {
			*x = a2a.JSON([]string{`{}`, `{"a":1,"b":[null,true,"é<"],"c":{"d":-1.5e-7}}`, `{"":9007199254740991}`}[r.IntN(3)])
		}
		return
	case *time.Time:
		*x = time.Time{}
		if r.IntN(2) == 0 {
			*x = time.UnixMilli(r.Int64N(4e12)).UTC()
		}
		return
	case *a2a.ElicitationState:
		*x = a2a.ElicitationState(r.IntN(4))
		return
	case *a2a.TaskState:
		*x = a2a.TaskState(r.IntN(9))
		return
	case *a2a.Role:
		*x = a2a.Role(r.IntN(3))
		return
	case *a2a.Part:
		*x = *[]*a2a.Part{
			a2a.TextPart("text é"), a2a.TextPart(""), a2a.RawPart([]byte{0, 255}, "a/b", "f"), a2a.URLPart("http://x", "", ""),
			a2a.DataPart(a2a.JSON(`null`)), a2a.DataPart(a2a.JSON(`[1,"x",{}]`)), {},
		}[r.IntN(7)]
		random(r, reflect.ValueOf(&x.Metadata).Elem(), depth)
		return
	case *a2a.SecurityScheme, *a2a.OAuthFlows, *a2a.SendMessageResponse, *a2a.StreamResponse, *a2a.TimelineEntry:
		i := r.IntN(5) // of fields that are pointers
		if i < v.NumField() && v.Field(i).Kind() == reflect.Pointer && v.Field(i).Type() != reflect.TypeFor[*a2a.JSON]() {
			v.Field(i).Set(reflect.New(v.Field(i).Type().Elem()))
			random(r, v.Field(i).Elem(), depth-1)
		}
		if f, ok := x.(*a2a.OAuthFlows); ok {
			onlyOwn(f)
		}
		return
	}
	switch v.Type() {
	case reflect.TypeFor[*a2a.Legacy](), reflect.TypeFor[*a2a.EncodedTask](), reflect.TypeFor[*a2a.JSON]():
		return // not in any binding
	case reflect.TypeFor[a2a.GetTaskRequest](), reflect.TypeFor[a2a.ListTasksRequest]():
		defer func() { v.FieldByName("Encoded").SetBool(false) }() // not in any binding
	}
	if v.Type() == reflect.TypeFor[a2a.SubscribeToTaskRequest]() {
		defer func() { v.FieldByName("Timeline").SetBool(false) }() // set by the codec
	}
	if v.Type() == reflect.TypeFor[a2a.TaskPushNotificationConfig]() {
		defer func() { v.FieldByName("Source").SetString("") }() // travels as a header
	}
	if v.Type() == reflect.TypeFor[a2a.Task]() {
		defer func() { v.FieldByName("Version").SetString("") }() // not in any binding
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "x", "ünï", "a b\n"}[r.IntN(4)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Int32()))
	case reflect.Pointer:
		if depth > 0 && r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			random(r, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for range r.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			if e.Kind() == reflect.Pointer {
				e.Set(reflect.New(e.Type().Elem()))
				random(r, e.Elem(), depth-1)
			} else {
				random(r, e, depth-1)
			}
			v.Set(reflect.Append(v, e))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range []string{"a", "b"}[:r.IntN(3)] {
			e := reflect.New(v.Type().Elem()).Elem()
			if e.Kind() == reflect.Pointer {
				e.Set(reflect.New(e.Type().Elem()))
				random(r, e.Elem(), depth-1)
			} else {
				random(r, e, depth-1)
			}
			v.SetMapIndex(reflect.ValueOf(k), e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			random(r, v.Field(i), depth)
		}
	}
}

// onlyOwn clears the members that a flow does not have (§4.5.8 to §4.5.10).
func onlyOwn(flows *a2a.OAuthFlows) {
	if f := flows.AuthorizationCode; f != nil {
		f.DeviceAuthorizationURL = ""
	}
	for _, f := range []*a2a.OAuthFlow{flows.ClientCredentials, flows.Implicit, flows.Password, flows.DeviceCode} {
		if f == nil {
			continue
		}
		f.PKCERequired = false
		if f != flows.Implicit {
			f.AuthorizationURL = ""
		} else {
			f.TokenURL = ""
		}
		if f != flows.DeviceCode {
			f.DeviceAuthorizationURL = ""
		}
	}
}

// sameJSON compares the values of JSON, not its bytes: only values survive.
var sameJSON = cmp.FilterValues(func(a, b a2a.JSON) bool { return len(a)+len(b) > 0 }, cmp.Comparer(func(a, b a2a.JSON) bool {
	if bytes.Equal(a, b) {
		return true // also for []byte, which cmp treats like JSON
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}))

// toProto converts any value but a card.
func toProto(v any) proto.Message {
	w := pbWriter{draft: true, valueCount: valueCount{math.MaxInt}}
	return w.any(v)
}

// fromProto reads any message within the limits for requests.
func fromProto(m proto.Message) (any, error) {
	r := reader{depth: requestDepth}
	return r.any(m), r.err()
}

// protoOf is toProto, for cards too.
func protoOf(t *testing.T, v any) proto.Message {
	t.Helper()
	card, ok := v.(*a2a.AgentCard)
	if !ok {
		return toProto(v)
	}
	m, err := cardPB(card)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every value of package a2a is read back from protocol buffers as it was, except for
// the losses that v1GRPC lists and what is sent outside the message.
func TestProtoCarriesEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var values []any
	for i := range Operations {
		values = append(values, NewRequest(Operations[i].Op))
		if res := NewResult(Operations[i].Op); res != nil {
			values = append(values, res)
		}
	}
	for range many(300) {
		for _, v := range values {
			in := reflect.New(reflect.TypeOf(v).Elem())
			random(r, in.Elem(), 6)
			switch x := in.Interface().(type) {
			case *a2a.SubscribeToTaskRequest:
				x.After = 0 // travels as metadata
			case *a2a.SendMessageRequest:
				x.IdempotencyKey, x.After = "", 0 // so do these
			case *a2a.StreamResponse:
				x.Seq = 0 // is added for clients that ask
			}
			sent := protoOf(t, in.Interface())
			raw, err := proto.Marshal(sent)
			if err != nil {
				t.Fatal(err)
			}
			m := sent.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(raw, m); err != nil {
				t.Fatal(err)
			}
			out, err := fromProto(m)
			if err != nil {
				t.Fatalf("%T: %v\n%v", v, err, m)
			}
			if d := cmp.Diff(in.Interface(), out, sameJSON, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%T (-sent +come):\n%s", v, d)
			}
		}
	}
}

// What v1GRPC lists.
func TestWhatProtoCannotCarry(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b": 1.0, "a": 2 , "a":3}`: `{"a":3,"b":1}`,
		`[12345678901234567890]`:      `[12345678901234567000]`,
		`[1e999,-1e999]`:              `[1.7976931348623157e+308,-1.7976931348623157e+308]`,
		`"\ud800x"`:                   `"` + "\uFFFD" + `x"`,
		`1e-999`:                      `0`,
	} {
		m := toProto(&a2a.Task{History: []*a2a.Message{{Parts: []*a2a.Part{a2a.DataPart(a2a.JSON(in))}}}})
		out, err := v1GRPC{}.DecodeResult(GetTask, nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(out.(*a2a.Task).History[0].Parts[0].Data); got != want {
			t.Errorf("%s comes back as %s, want %s", in, got, want)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.UTC)
	m := toProto(&a2a.Task{ID: "a\xffb", Status: a2a.TaskStatus{Timestamp: at}}).(*pb.Task)
	if m.GetId() != "a\uFFFDb" || !m.GetStatus().GetTimestamp().AsTime().Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("%v", m)
	}
	if _, err := proto.Marshal(m); err != nil {
		t.Error(err)
	}
}

func TestProtoRequestsThatAreWrong(t *testing.T) {
	part := func(v *structpb.Value) *pb.SendMessageRequest {
		return &pb.SendMessageRequest{Message: &pb.Message{Parts: []*pb.Part{{Content: &pb.Part_Data{Data: v}}}}}
	}
	deep := structpb.NewNullValue()
	for range 200 {
		deep = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{deep}})
	}
	tests := map[string]struct {
		m     proto.Message
		field string
	}{
		"a role":      {&pb.SendMessageRequest{Message: &pb.Message{Role: 7}}, "message.role"},
		"a state":     {&pb.ListTasksRequest{Status: 99}, "status"},
		"a timestamp": {&pb.ListTasksRequest{StatusTimestampAfter: &timestamppb.Timestamp{Nanos: -1}}, "statusTimestampAfter"},
		"no number":   {part(structpb.NewNumberValue(math.NaN())), "message.parts[0].data"},
		"no kind":     {part(&structpb.Value{}), "message.parts[0].data"},
		"no value":    {part(nil), "message.parts[0].data"},
		"depth":       {part(deep), "message.parts[0].data"},
		"metadata":    {&pb.CancelTaskRequest{Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"x": nil}}}, "metadata"},
	}
	for name, tt := range tests {
		_, err := fromProto(tt.m)
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != tt.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each code comes back from a status, with all that may be said.
func TestErrorsAsStatus(t *testing.T) {
	for _, row := range Errors {
		in := &a2a.Error{
			Code: row.Code, Message: "what to do", Meta: map[string]string{"k": "v"}, Cause: errors.New("secret"),
			Fields: []a2a.FieldViolation{{Field: "a.b", Description: "is wrong"}},
		}
		st := ErrorToStatus(V11, in)
		raw, err := proto.Marshal(st)
		if err != nil || strings.Contains(string(raw), "secret") {
			t.Fatalf("%v %q", err, raw)
		}
		out := ErrorFromStatus(st)
		want := *in
		want.Peer, want.PeerCode, want.Cause = true, row.GRPC, nil
		if d := cmp.Diff(&want, out); d != "" {
			t.Errorf("%s: %s", row.Code, d)
		}
		st.Details = nil // only the status is left
		if out := ErrorFromStatus(st); ErrorRowOf(out.Code).GRPC != row.GRPC && row.Code != a2a.CodeMethodNotAllowed {
			t.Errorf("%s without details becomes %s", row.Code, out.Code)
		}
	}
}

// FuzzProtoRequest reads foreign bytes: what is read can be written and read
// again, as JSON too.
func FuzzProtoRequest(f *testing.F) {
	for _, v := range []any{
		&a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Parts: []*a2a.Part{a2a.DataPart(a2a.JSON(`{"a":[1]}`))}}},
		&a2a.ListTasksRequest{StatusTimestampAfter: time.UnixMilli(1)},
	} {
		raw, err := proto.Marshal(toProto(v))
		if err != nil {
			f.Fatal(err)
		}
		for i := range Operations {
			f.Add(uint8(i), raw)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		op := Operations[int(n)%len(Operations)].Op
		for _, m := range []proto.Message{v1GRPC{}.NewRequest(op), v1GRPC{}.NewResult(op)} {
			if proto.Unmarshal(raw, m) != nil {
				continue
			}
			v, err := fromProto(m)
			if err != nil || v == nil {
				continue
			}
			again, err := fromProto(protoOf(t, v))
			if err != nil {
				t.Fatalf("%v: %v", m, err)
			}
			if d := cmp.Diff(v, again, sameJSON, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(a2a.StreamResponse{}, "Seq")); d != "" {
				t.Fatal(d)
			}
			if doc := v.(appender).AppendJSON(nil); !json.Valid(doc) {
				t.Fatalf("%q", doc)
			}
		}
	})
}

// Clients of gRPC can read the deepest value that an agent may put into a task.
func TestTheDeepestThatIsPublished(t *testing.T) {
	var doc a2a.JSON
	deep := 0
	for n := 100; n < 20_000; n += 100 {
		data := a2a.JSON(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
		if (&a2a.Artifact{ArtifactID: "a", Parts: []*a2a.Part{a2a.DataPart(data)}}).Validate() == nil {
			doc, deep = data, n
		}
	}
	wire, err := proto.Marshal(toProto(&a2a.Task{ID: "t", Artifacts: []*a2a.Artifact{{ArtifactID: "a", Parts: []*a2a.Part{a2a.DataPart(doc)}}}}))
	if err != nil {
		t.Fatal(err)
	}
	m := new(pb.Task)
	if err := proto.Unmarshal(wire, m); err != nil {
		t.Fatalf("%d levels: %v", deep, err)
	}
	out, err := v1GRPC{}.DecodeResult(GetTask, nil, m)
	if err != nil {
		t.Fatalf("%d levels: %v", deep, err)
	}
	if got := out.(*a2a.Task).Artifacts[0].Parts[0].Data; !bytes.Equal(got, doc) {
		t.Errorf("%d levels come back as %d bytes of %d", deep, len(got), len(doc))
	}
}
