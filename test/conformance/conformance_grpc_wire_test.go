package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/agent"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// grpcBinding is the third binding. Its driver knows the official names and
// what the server's reflection says about them, and nothing of the project's
// own messages and codecs.
const grpcBinding = "grpc"

const serviceName = "lf.a2a.v1.A2AService"

// grpcPeer is a connection of the driver.
type grpcPeer struct {
	conn    *grpc.ClientConn
	service protoreflect.ServiceDescriptor
}

// dialGRPC connects.
func dialGRPC(t *testing.T, address string) *grpcPeer {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &grpcPeer{conn, serviceAsDescribed(t)}
}

var asDescribed struct {
	sync.Mutex
	service protoreflect.ServiceDescriptor
}

// serviceAsDescribed is what reflection says of the service at a server where
// everybody may call: elsewhere reflection needs credentials, and counts as a call.
func serviceAsDescribed(t *testing.T) protoreflect.ServiceDescriptor {
	t.Helper()
	asDescribed.Lock()
	defer asDescribed.Unlock()
	if asDescribed.service == nil {
		conn, err := grpc.NewClient("passthrough:///"+hostOf(start(t, agent.DemoCard(), agent.Demo(), nil)), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		asDescribed.service = describe(t, conn, serviceName)
	}
	return asDescribed.service
}

// describe asks for what reflection says of a service.
func describe(t *testing.T, conn *grpc.ClientConn, serviceName string) protoreflect.ServiceDescriptor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: serviceName}}); err != nil {
		t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	for _, raw := range res.GetFileDescriptorResponse().GetFileDescriptorProto() {
		fd := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(raw, fd); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, fd)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatalf("what reflection says of %s does not hang together: %v (%v)", serviceName, err, res)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(serviceName))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

// message makes a request of an operation's parameters, by the JSON names.
func (p *grpcPeer) message(t *testing.T, op string, params any) (method protoreflect.MethodDescriptor, in *dynamicpb.Message) {
	t.Helper()
	method = p.service.Methods().ByName(protoreflect.Name(op))
	if method == nil {
		t.Fatalf("reflection does not know %s", op)
	}
	in = dynamicpb.NewMessage(method.Input())
	if params != nil {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(compact(params)), in); err != nil {
			t.Fatalf("%s is not for %s: %v", compact(params), op, err)
		}
	}
	return method, in
}

// withHeaders puts headers into metadata as request does into HTTP.
func withHeaders(ctx context.Context, headers []string) context.Context {
	md := metadata.Pairs("a2a-version", "1.0")
	for i := 0; i < len(headers); i += 2 {
		md.Delete(headers[i])
		if headers[i+1] != "" {
			md.Set(headers[i], headers[i+1])
		}
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// callGRPC is call over gRPC. The fields that JSON always has, and gRPC does not
// tell from their default, are put in.
func (w *wire) callGRPC(t *testing.T, op string, params any, headers []string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	method, req := w.grpc.message(t, op, params)
	if method.IsStreamingServer() {
		return w.refusedGRPC(t, op, params, headers)
	}
	res := dynamicpb.NewMessage(method.Output())
	var header metadata.MD
	err := w.grpc.conn.Invoke(withHeaders(ctx, headers), "/"+serviceName+"/"+op, req, res, grpc.Header(&header))
	a := answer{status: http.StatusOK, header: httpHeader(header)}
	if err != nil {
		a.fault = grpcFault(t, err)
		a.status = 0
		return a
	}
	a.body = asJSON(t, res)
	a.result = decode(t, a.body)
	if page, ok := a.result.(obj); ok && op == "ListTasks" {
		for name, empty := range (obj{"tasks": []any{}, "nextPageToken": "", "totalSize": json.Number("0")}) {
			if !has(page, name) {
				page[name] = empty
			}
		}
	}
	return a
}

// refusedGRPC is call for an operation that streams: it must fail before the
// first element, unless there is just one.
func (w *wire) refusedGRPC(t *testing.T, op string, params any, headers []string) answer {
	t.Helper()
	s := w.openGRPC(t, op, params, headers)
	defer s.close()
	m := dynamicpb.NewMessage(s.output)
	err := s.grpc.RecvMsg(m)
	if err == nil {
		t.Fatalf("%s %s is not refused: %s", op, compact(params), asJSON(t, m))
	}
	return answer{header: http.Header{}, fault: grpcFault(t, err)}
}

func httpHeader(md metadata.MD) http.Header {
	h := http.Header{}
	for k, vs := range md {
		h[http.CanonicalHeaderKey(k)] = vs
	}
	return h
}

func asJSON(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// grpcFault opens an error.
func grpcFault(t *testing.T, err error) *fault {
	t.Helper()
	st := status.Convert(err)
	f := &fault{code: st.Code().String(), message: st.Message()}
	name, err := json.Marshal(st.Code()) // the number
	if err != nil {
		t.Fatal(err)
	}
	f.status = canonical[string(name)]
	for _, d := range st.Proto().GetDetails() {
		b, err := (protojson.MarshalOptions{Resolver: protoregistry.GlobalTypes}).Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		f.details = append(f.details, decode(t, b))
	}
	return f
}

// canonical are the names of google.rpc.Code.
var canonical = map[string]string{
	"1": "CANCELLED", "2": "UNKNOWN", "3": "INVALID_ARGUMENT", "4": "DEADLINE_EXCEEDED", "5": "NOT_FOUND",
	"7": "PERMISSION_DENIED", "8": "RESOURCE_EXHAUSTED", "9": "FAILED_PRECONDITION", "10": "ABORTED", "11": "OUT_OF_RANGE",
	"12": "UNIMPLEMENTED", "13": "INTERNAL", "14": "UNAVAILABLE", "16": "UNAUTHENTICATED",
}

// openGRPC is open over gRPC.
func (w *wire) openGRPC(t *testing.T, op string, params any, headers []string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	method, req := w.grpc.message(t, op, params)
	cs, err := w.grpc.conn.NewStream(withHeaders(ctx, headers), &grpc.StreamDesc{ServerStreams: true}, "/"+serviceName+"/"+op)
	if err == nil {
		err = errors.Join(cs.SendMsg(req), cs.CloseSend())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &stream{t: t, w: w, op: op, grpc: cs, output: method.Output(), close: cancel}
}

// nextGRPC is next over gRPC.
func (s *stream) nextGRPC() (event, bool) {
	s.t.Helper()
	m := dynamicpb.NewMessage(s.output)
	switch err := s.grpc.RecvMsg(m); {
	case err == io.EOF:
		return event{}, false
	case status.Code(err) == grpccodes.Unavailable:
		return event{}, false // the server drains: over HTTP the stream just ends
	case err != nil:
		s.t.Fatalf("the stream of %s breaks off: %v", s.op, err)
	}
	return s.event("", string(asJSON(s.t, m))), true
}

// hostOf is the host and port of a URL.
func hostOf(url string) string { return strings.TrimPrefix(url, "http://") }
