package acts

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/parley-a2a/parley/internal/pb"
)

// grpcDefect is one thing that a server does wrong over gRPC. Only what this binding has of
// its own is here: the objects are the same over each, and wrong ones are in defects.
type grpcDefect struct {
	name    string
	ask     func(metadata.MD)                           // before the server sees it
	answer  func(method string, n int, m proto.Message) // the n-th message
	message func(method string, n int, o obj) []obj     // the same as JSON; more or fewer come out
	refusal func(method string, s *status.Status) error // in place of a status
	find    string
}

// told makes a status with other words.
func told(s *status.Status, c codes.Code, details ...proto.Message) error {
	p := s.Proto()
	p.Code = int32(c)
	p.Details = nil
	for _, d := range details {
		a, err := anypb.New(d)
		if err != nil {
			return err
		}
		p.Details = append(p.Details, a)
	}
	return status.ErrorProto(p)
}

// info returns the ErrorInfo of a status.
func info(s *status.Status) *errdetails.ErrorInfo {
	for _, d := range s.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			return i
		}
	}
	return nil
}

func completed(o obj) bool {
	s, _ := lookup(any(o), "statusUpdate.status.state")
	return s == "TASK_STATE_COMPLETED"
}

var grpcDefects = []grpcDefect{
	{name: "a missing task is an invalid argument", refusal: func(_ string, s *status.Status) error {
		if s.Code() == codes.NotFound {
			return told(s, codes.InvalidArgument, info(s))
		}
		return s.Err()
	}, find: "ERROR-012"},
	{name: "refusals have no details", refusal: func(_ string, s *status.Status) error { return told(s, s.Code()) }, find: "ERROR-011 VALID-011 VERSION-007"},
	{name: "the domain of errors is the server's", refusal: func(_ string, s *status.Status) error {
		i := info(s)
		if i == nil {
			return s.Err()
		}
		i.Domain = "example.com"
		return told(s, s.Code(), i)
	}, find: "ERROR-005 VALID-011"},
	{name: "what cannot be canceled is aborted", refusal: func(method string, s *status.Status) error {
		if method == "CancelTask" && s.Code() == codes.FailedPrecondition {
			return told(s, codes.Aborted, info(s))
		}
		return s.Err()
	}, find: "ERROR-012"},
	{name: "the reason of an error is another one's", refusal: func(method string, s *status.Status) error {
		if i := info(s); i != nil && method == "CancelTask" && s.Code() == codes.FailedPrecondition {
			i.Reason = "UNSUPPORTED_OPERATION"
			return told(s, s.Code(), i)
		}
		return s.Err()
	}, find: "CANCEL-003 CANCEL-004"},
	{name: "invalid arguments are unknown", refusal: func(_ string, s *status.Status) error {
		if s.Code() == codes.InvalidArgument {
			return told(s, codes.Unknown)
		}
		return s.Err()
	}, find: "LIST-011 LIST-012 LIST-018 SEND-010 STREAM-016 VALID-002 VALID-003 VALID-004 VALID-005 VALID-008 VALID-011 VALID-012"},
	{name: "any version is taken", ask: func(md metadata.MD) {
		if len(md.Get("a2a-version")) > 0 && md.Get("a2a-version")[0] == "99.0" {
			md.Set("a2a-version", "1.0")
		}
	}, find: "VERSION-001 VERSION-002 VERSION-007"},
	{name: "a message has a field of another version", answer: func(_ string, _ int, m proto.Message) {
		r := m.ProtoReflect()
		r.SetUnknown(append(r.GetUnknown(), protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1)...))
	}, find: "GRPC-001"},
	{name: "the answer to a message is empty", message: func(method string, _ int, o obj) []obj {
		if method == "SendMessage" && o["message"] != nil {
			return []obj{{}}
		}
		return []obj{o}
	}, find: "SEND-001"},
	{name: "an event is empty", message: func(_ string, _ int, o obj) []obj {
		if o["artifactUpdate"] != nil {
			return []obj{{}, o}
		}
		return []obj{o}
	}, find: "STREAM-003"},
	{name: "states are unspecified", message: func(method string, _ int, o obj) []obj {
		if method == "SubscribeToTask" || method == "GetTask" {
			return []obj{o}
		}
		walk(any(o), func(o obj) {
			if o["state"] == "TASK_STATE_REJECTED" {
				delete(o, "state")
			}
		})
		return []obj{o}
	}, find: "DATA-002"},
	{name: "roles are unspecified", message: func(_ string, _ int, o obj) []obj {
		walk(any(o), func(o obj) {
			if o["role"] == "ROLE_AGENT" {
				delete(o, "role")
			}
		})
		return []obj{o}
	}, find: "DATA-003 DATA-010"},
	{name: "a stream ends before its last event", message: func(_ string, _ int, o obj) []obj {
		if completed(o) {
			return nil
		}
		return []obj{o}
	}, find: "STREAM-010 STREAM-022 SUB-006 SUB-007 SUB-008"},
	{name: "a stream begins with an update", message: func(method string, n int, o obj) []obj {
		if task, ok := o["task"].(obj); ok && n == 0 && method == "SendStreamingMessage" {
			return []obj{{"statusUpdate": obj{"taskId": task["id"], "contextId": task["contextId"], "status": task["status"]}}}
		}
		return []obj{o}
	}, find: "STREAM-001 STREAM-018 STREAM-020 STREAM-021 STREAM-022 SUB-009"},
}

// proxied serves gRPC as another server does, but for the defect, until the test ends.
func (d *grpcDefect) proxied(t *testing.T, to *grpc.ClientConn) (addr string) {
	methods := pb.File_internal_pb_a2a_proto.Services().ByName("A2AService").Methods()
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, down grpc.ServerStream) error {
		full, _ := grpc.MethodFromServerStream(down)
		name := full[strings.LastIndexByte(full, '/')+1:]
		method := methods.ByName(protoreflect.Name(name))
		if method == nil {
			return status.Error(codes.Unimplemented, "unknown method")
		}
		in := dynamicpb.NewMessage(method.Input())
		if err := down.RecvMsg(in); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(down.Context())
		md = md.Copy()
		if d.ask != nil {
			d.ask(md)
		}
		ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(down.Context(), md))
		defer cancel()
		up, err := to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, full)
		if err == nil {
			err = errors.Join(up.SendMsg(in), up.CloseSend())
		}
		for n := 0; err == nil; n++ {
			out := dynamicpb.NewMessage(method.Output())
			if err = up.RecvMsg(out); err == nil {
				err = d.pass(name, n, out, down)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if d.refusal != nil {
			return d.refusal(name, status.Convert(err))
		}
		return err
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// pass sends a message on, as the defect makes it.
func (d *grpcDefect) pass(method string, n int, m *dynamicpb.Message, to grpc.ServerStream) error {
	if d.answer != nil {
		d.answer(method, n, m)
	}
	if d.message == nil {
		return to.SendMsg(m)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	v, err := decode(text)
	if err != nil {
		return err
	}
	for _, o := range d.message(method, n, v.(obj)) {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		out := dynamicpb.NewMessage(m.Descriptor())
		if err := protojson.Unmarshal(text, out); err != nil {
			return err
		}
		if err := to.SendMsg(out); err != nil {
			return err
		}
	}
	return nil
}

// grpcDefectsOf runs each of grpcDefects against a server that is right.
func grpcDefectsOf(t *testing.T, url string, corpus *Corpus) {
	conn, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	a := fetchCard(t.Context(), http.DefaultClient, url+card, nil, new(kept))
	right, ok := a.raw.(obj)
	if !ok {
		t.Fatalf("no card: %v", a.broken)
	}
	for i := range grpcDefects {
		d := &grpcDefects[i]
		t.Run("grpc-"+strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			published := maps.Clone(right)
			published["supportedInterfaces"] = []any{obj{"url": d.proxied(t, conn), "protocolBinding": "GRPC", "protocolVersion": "1.0"}}
			text, err := json.Marshal(published)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(text) }))
			defer srv.Close()
			finds(t, d.find, "", &Options{URL: srv.URL, Corpus: corpus, Bindings: []string{GRPC}, Versions: []string{"1.0"}, Skip: []string{"card", "CARD-*"}})
		})
	}
}
