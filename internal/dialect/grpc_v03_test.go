package dialect

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb/v03"
	codepb "google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// onWire sends a message.
func onWire(t testing.TB, m proto.Message) proto.Message {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Over gRPC a message of 0.3 has the content that it has over HTTP+JSON, whose form is
// that of the proto.
func TestV03OverGRPCIsV03OverHTTP(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	g := v03GRPC{}
	made := func(v any) any {
		out := reflect.New(reflect.TypeOf(v).Elem())
		random(r, out.Elem(), 6)
		return out.Interface()
	}
	diff := func(op Op, what string, want, got any, werr, err error) {
		t.Helper()
		if d := v03Diff(want, got); d != "" || (werr == nil) != (err == nil) {
			t.Fatalf("%s %s: %v, %v (-HTTP +gRPC):\n%s", op, what, werr, err, d)
		}
	}
	for range many(200) {
		for i := range Operations {
			op := Operations[i].Op
			if g.Method(op) == "" || op == GetExtendedAgentCard {
				continue
			}
			req := made(NewRequest(op))
			m, err := g.Request(op, req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.DecodeRequest(op, onWire(t, m))
			want, werr := v03Proto.DecodeRequest(op, v03Proto.AppendRequest(nil, op, req))
			diff(op, "request", want, got, werr, err)
			if NewResult(op) == nil {
				continue
			}
			res := made(NewResult(op))
			if el, ok := res.(*a2a.StreamResponse); ok {
				list, err := g.Events(op, req).Messages(el)
				if err != nil {
					t.Fatal(err)
				}
				events := v03Proto.Events(op, req)
				for n, more := 0, true; more; n++ {
					var doc []byte
					if doc, more = events.Append(nil, el, n); len(doc) == 0 {
						if len(list) != n {
							t.Fatalf("%d messages, want %d", len(list), n)
						}
						continue
					}
					got, err := g.DecodeEvent(op, req, onWire(t, list[n]))
					want, werr := v03Proto.DecodeEvent(op, req, doc)
					diff(op, "event", want, got, werr, err)
				}
				continue
			}
			m, err = g.Result(op, req, res)
			if err != nil {
				t.Fatalf("%v: %v", err, errors.Unwrap(err))
			}
			gotRes, err := g.DecodeResult(op, req, onWire(t, m))
			wantRes, werr := v03Proto.DecodeResult(op, req, v03Proto.AppendResult(nil, op, req, res))
			diff(op, "result", wantRes, gotRes, werr, err)
		}
	}
}

// A card comes back but for what 0.3 does not have.
func TestCardOverGRPCOfV03(t *testing.T) {
	card := &a2a.AgentCard{
		Name: "n", Description: "d", Version: "2", DocumentationURL: "http://d", IconURL: "http://i",
		Provider:     &a2a.AgentProvider{URL: "http://p", Organization: "o"},
		Capabilities: a2a.AgentCapabilities{Streaming: new(true), PushNotifications: new(false), ExtendedAgentCard: new(true), Extensions: []*a2a.AgentExtension{{URI: "urn:e", Required: true, Params: a2a.JSON(`{"a":1}`)}}},
		SupportedInterfaces: []*a2a.AgentInterface{
			{URL: "http://h", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
			{URL: "http://h", ProtocolBinding: "JSONRPC", ProtocolVersion: "0.3"},
			{URL: "h:1", ProtocolBinding: "GRPC", ProtocolVersion: "0.3"},
		},
		SecuritySchemes: map[string]*a2a.SecurityScheme{
			"key":   {APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: "X"}},
			"oauth": {OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{AuthorizationCode: &a2a.OAuthFlow{AuthorizationURL: "http://a", TokenURL: "http://t", Scopes: map[string]string{"s": "x"}}}}},
		},
		SecurityRequirements: []a2a.SecurityRequirement{{"oauth": {"s"}, "key": nil}},
		DefaultInputModes:    []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills:     []*a2a.AgentSkill{{ID: "s", Name: "s", Description: "d", Tags: []string{"t"}, SecurityRequirements: []a2a.SecurityRequirement{{"key": nil}}}},
		Signatures: []*a2a.AgentCardSignature{{Protected: "p", Signature: "s", Header: a2a.JSON(`{"k":"v"}`)}},
	}
	g := v03GRPC{}
	m, err := g.Result(GetExtendedAgentCard, nil, card)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.DecodeResult(GetExtendedAgentCard, nil, onWire(t, m))
	if err != nil {
		t.Fatal(err)
	}
	want := *card
	want.SupportedInterfaces = []*a2a.AgentInterface{card.SupportedInterfaces[2], card.SupportedInterfaces[1]}
	if d := cmp.Diff(&want, got, sameJSON, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-sent +come):\n%s", d)
	}
	if _, err := g.DecodeResult(GetExtendedAgentCard, nil, new(v03.AgentCard)); err != nil {
		t.Errorf("an empty card: %v", err)
	}
	// Protocol buffers omit defaults.
	got, err = g.DecodeResult(GetExtendedAgentCard, nil, &v03.AgentCard{Url: "http://h"})
	if err != nil || got.(*a2a.AgentCard).SupportedInterfaces[0].ProtocolVersion != "0.3" {
		t.Errorf("a card without a version: %+v, %v", got, err)
	}
}

// The numbers are those of the specification's proto at 0.3.0, and of fields that were
// added after it.
func TestNumbersOfV03(t *testing.T) {
	for m, want := range map[proto.Message]string{
		new(v03.SendMessageRequest):       "message=1 configuration=2 metadata=3",
		new(v03.SendMessageConfiguration): "acceptedOutputModes=1 pushNotification=2 historyLength=3 blocking=4",
		new(v03.SendMessageResponse):      "task=1 message=2",
		new(v03.StreamResponse):           "task=1 message=2 statusUpdate=3 artifactUpdate=4 seq=1000",
		new(v03.Task):                     "id=1 contextId=2 status=3 artifacts=4 history=5 metadata=6",
		new(v03.TaskStatus):               "state=1 message=2 timestamp=3",
		new(v03.Message):                  "messageId=1 contextId=2 taskId=3 role=4 content=5 metadata=6 extensions=7 referenceTaskIds=8",
		new(v03.Part):                     "text=1 file=2 data=3 metadata=4",
		new(v03.FilePart):                 "fileWithUri=1 fileWithBytes=2 mimeType=3 name=4",
		new(v03.Artifact):                 "artifactId=1 name=3 description=4 parts=5 metadata=6 extensions=7",
		new(v03.TaskStatusUpdateEvent):    "taskId=1 contextId=2 status=3 final=4 metadata=5",
		new(v03.TaskArtifactUpdateEvent):  "taskId=1 contextId=2 artifact=3 append=4 lastChunk=5 metadata=6",
		new(v03.PushNotificationConfig):   "id=1 url=2 token=3 authentication=4",
		new(v03.AgentCard): "protocolVersion=16 name=1 description=2 url=3 preferredTransport=14 additionalInterfaces=15 provider=4 version=5 " +
			"documentationUrl=6 capabilities=7 securitySchemes=8 security=9 defaultInputModes=10 defaultOutputModes=11 skills=12 " +
			"supportsAuthenticatedExtendedCard=13 signatures=17 iconUrl=18",
		new(v03.CreateTaskPushNotificationConfigRequest): "parent=1 configId=2 config=3",
	} {
		var got []string
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			got = append(got, fmt.Sprintf("%s=%d", fields.Get(i).JSONName(), fields.Get(i).Number()))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%T is %s, want %s", m, s, want)
		}
	}
	files, err := GRPCFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range GRPCServices {
		g := GRPCOf(d)
		found, err := files.FindDescriptorByName(protoreflect.FullName(g.Service()))
		if err != nil {
			t.Fatal(err)
		}
		methods, n := found.(protoreflect.ServiceDescriptor).Methods(), 0
		for i := range Operations {
			op := &Operations[i]
			name := g.Method(op.Op)
			if name == "" {
				continue
			}
			n++
			m := methods.ByName(protoreflect.Name(name))
			if m == nil || m.IsStreamingServer() != op.Streams ||
				m.Input().Name() != g.NewRequest(op.Op).ProtoReflect().Descriptor().Name() ||
				m.Output().Name() != g.NewResult(op.Op).ProtoReflect().Descriptor().Name() {
				t.Errorf("%s of %s: %v", name, g.Service(), m)
			}
		}
		if n != methods.Len() {
			t.Errorf("%s has %d methods, we %d", g.Service(), methods.Len(), n)
		}
	}
}

// The error for a wrong request says which field is wrong, as far as that can be said.
func TestRequestsOfV03ThatAreWrong(t *testing.T) {
	deep := &structpb.Struct{}
	for range 200 {
		deep = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStructValue(deep)}}
	}
	for name, m := range map[string]proto.Message{
		"a role":    &v03.SendMessageRequest{Request: &v03.Message{Role: 7}},
		"no number": &v03.SendMessageRequest{Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewNumberValue(math.NaN())}}},
		"no kind":   &v03.SendMessageRequest{Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"x": {}}}},
		"depth":     &v03.SendMessageRequest{Metadata: deep},
	} {
		_, err := v03GRPC{}.DecodeRequest(SendMessage, m)
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A task stays readable whatever an agent puts into it.
func TestWhatV03ProtoCannotCarry(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.0,"a":2,"a":3}`: `{"a":3,"b":1}`,
		`{"n":1e999}`:           `{"n":1.7976931348623157e+308}`,
		`{"s":"\ud800x"}`:       `{"s":"` + "\uFFFD" + `x"}`,
	} {
		m, err := v03GRPC{}.Result(GetTask, nil, &a2a.Task{ID: "t", ContextID: "c", Metadata: a2a.JSON(in)})
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		out, err := v03GRPC{}.DecodeResult(GetTask, &a2a.GetTaskRequest{}, onWire(t, m))
		if err != nil || v03Diff(a2a.JSON(want), out.(*a2a.Task).Metadata) != "" {
			t.Errorf("%s comes back as %s: %v", in, out.(*a2a.Task).Metadata, err)
		}
	}
}

// Positions come with the last message of an element, for clients that ask for them.
func TestPositionsOfV03(t *testing.T) {
	el := &a2a.StreamResponse{Task: &a2a.Task{ID: "t", ContextID: "c"}, Seq: 7}
	list, err := v03GRPC{}.Events(SubscribeToTask, nil).Messages(el)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	els, err := v03GRPC{}.DecodeEvent(SubscribeToTask, nil, onWire(t, WithSeq(list[0], el.Seq)))
	if err != nil || len(els) != 1 || els[0].Seq != 7 {
		t.Errorf("%v %v", els, err)
	}
	ended := v03GRPC{}.Events(SubscribeToTask, nil)
	el.Task.Status.State = a2a.TaskStateCompleted
	if list, err := ended.Messages(el); err != nil || len(list) != 1 || !ended.Ended() {
		t.Errorf("a finished task: %d messages, ended %v, %v", len(list), ended.Ended(), err)
	}
}

// Errors of 0.3 are read back from their details, or from the word in the message
// alone.
func TestErrorsOfV03AsStatus(t *testing.T) {
	for _, row := range Errors {
		in := &a2a.Error{Code: row.Code, Message: "what to do", Meta: map[string]string{"k": "v"}, Cause: errors.New("secret")}
		st := ErrorToStatus(V03, in)
		if strings.Contains(st.String(), "secret") {
			t.Errorf("%v", st)
		}
		want := errorRowIn(V03, row.Code).Code
		if out := ErrorFromStatus(st); out.Code != want || out.Message != "what to do" || out.Meta["k"] != "v" {
			t.Errorf("%s becomes %+v", row.Code, out)
		}
		st.Details = nil
		if want == a2a.CodeMethodNotAllowed {
			want = a2a.CodeMethodNotFound
		}
		if !strings.Contains(st.Message, "_") {
			continue // only the status has the code
		}
		if out := ErrorFromStatus(st); out.Code != want || out.Message != "what to do" {
			t.Errorf("%s without details becomes %+v", row.Code, out)
		}
	}
	for message, want := range map[string]a2a.Code{
		"TaskNotCancelableError: it is over": a2a.CodeTaskNotCancelable,
		"UnsupportedOperationError: no":      a2a.CodeUnsupportedOperation,
		"METHOD_NOT_FOUND":                   a2a.CodeMethodNotFound,
		"unknown service a2a.v1.A2AService":  a2a.CodeUnsupportedOperation,
		"the task: TASK_NOT_FOUND":           a2a.CodeUnsupportedOperation,
	} {
		e := ErrorFromStatus(&statuspb.Status{Code: int32(codepb.Code_UNIMPLEMENTED), Message: message})
		if e.Code != want || e.Message == "" {
			t.Errorf("%q becomes %+v", message, e)
		}
	}
}

// A request as another program writes it, by the official numbers.
func TestRequestOfV03ByHand(t *testing.T) {
	field := func(b []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	file := field(field(field(nil, 2, []byte{0, 255}), 3, []byte("a/b")), 4, []byte("name"))
	msg := field(nil, 1, []byte("m1"))
	msg = protowire.AppendVarint(protowire.AppendTag(msg, 4, protowire.VarintType), 1)
	msg = field(msg, 5, field(nil, 1, []byte("hello")))
	msg = field(msg, 5, field(nil, 2, file))
	msg = field(msg, 8, []byte("t0"))
	raw := field(field(nil, 1, msg), 2, field(nil, 1, []byte("text/plain")))
	raw = field(raw, 77, []byte("of a later version"))
	m := v03GRPC{}.NewRequest(SendMessage)
	if err := proto.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
	got, err := v03GRPC{}.DecodeRequest(SendMessage, m)
	if err != nil {
		t.Fatal(err)
	}
	want := &a2a.SendMessageRequest{
		Legacy: &a2a.Legacy{Version: "0.3"},
		Message: &a2a.Message{
			MessageID: "m1", Role: a2a.RoleUser, ReferenceTaskIDs: []string{"t0"},
			Parts: []*a2a.Part{a2a.TextPart("hello"), a2a.RawPart([]byte{0, 255}, "a/b", "name")},
		},
		Configuration: &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{"text/plain"}, ReturnImmediately: true},
	}
	if d := v03Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzProtoRequestV03 reads foreign bytes: what is read can be written and read
// again.
func FuzzProtoRequestV03(f *testing.F) {
	for i := range Operations {
		m, err := v03GRPC{}.Request(SendMessage, &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.DataPart(a2a.JSON(`{"a":[1]}`))}}})
		if err != nil {
			f.Fatal(err)
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), raw)
	}
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		g, op := v03GRPC{}, Operations[int(n)%len(Operations)].Op
		if g.Method(op) == "" {
			return
		}
		if m := g.NewRequest(op); proto.Unmarshal(raw, m) == nil {
			if req, err := g.DecodeRequest(op, m); err == nil {
				again, err := g.Request(op, req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := g.DecodeRequest(op, again); err != nil {
					t.Fatalf("%v: %v", m, err)
				}
			}
		}
		m := g.NewResult(op)
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		if Get(op).Streams {
			_, _ = g.DecodeEvent(op, NewRequest(op), m)
			return
		}
		if res, err := g.DecodeResult(op, NewRequest(op), m); err == nil {
			if _, err := g.Result(op, nil, res); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The service name decides, unless versions are strict.
func TestDetectGRPC(t *testing.T) {
	for _, tt := range []struct {
		service, version string
		lenient, strict  string // "" is refused
	}{
		{GRPCService, "1.0", "1.0", "1.0"}, {GRPCService, "1.0.3", "1.0", "1.0"}, {GRPCService, "1.1", "1.1", "1.1"},
		{GRPCService, "", "1.0", ""}, {GRPCService, "0.3", "1.0", ""}, {GRPCService, "2.0", "", ""},
		{GRPCServiceV03, "0.3", "0.3", "0.3"}, {GRPCServiceV03, "0.3.0", "0.3", "0.3"}, {GRPCServiceV03, "0.2", "0.3", "0.3"},
		{GRPCServiceV03, "", "0.3", "0.3"}, {GRPCServiceV03, "1.0", "0.3", ""}, {GRPCServiceV03, "1.1", "0.3", ""}, {GRPCServiceV03, "x", "", ""},
	} {
		for strict, want := range map[bool]string{false: tt.lenient, true: tt.strict} {
			d, err := DetectGRPC(tt.service, tt.version, strict)
			if (err == nil) != (want != "") || err == nil && d.Version() != want {
				t.Errorf("%s %q strict=%v: %v %v, want %q", tt.service, tt.version, strict, d, err, want)
			}
			if err != nil && !errors.Is(err, &a2a.Error{Code: a2a.CodeVersionNotSupported}) {
				t.Errorf("%v", err)
			}
		}
	}
}
