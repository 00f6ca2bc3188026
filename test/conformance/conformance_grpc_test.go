package conformance

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	grpccodes "google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// TestConformanceGRPC is about what only gRPC has; the tests that run over each
// binding run over gRPC, too.
func TestConformanceGRPC(t *testing.T) {
	t.Parallel()
	url := start(t, agent.DemoCard(), agent.Demo(), nil)
	w := dial(t, grpcBinding, url)
	done := text(w.send(t, say("echo x")), "id")

	t.Run("R-228 all methods are there, under the official names", func(t *testing.T) {
		methods := w.grpc.service.Methods()
		if methods.Len() != len(routes) {
			t.Errorf("%d methods, want %d", methods.Len(), len(routes))
		}
		for op := range routes {
			m := methods.ByName(protoreflect.Name(op))
			if m == nil {
				t.Errorf("no %s", op)
				continue
			}
			if pkg := m.Input().ParentFile().Package(); pkg != "lf.a2a.v1" {
				t.Errorf("the request of %s is of package %s", op, pkg)
			}
			// Whatever it says, it is not that there is no such method.
			var err error
			if m.IsStreamingServer() {
				s := w.openGRPC(t, op, obj{}, nil)
				err = s.grpc.RecvMsg(dynamicpb.NewMessage(m.Output()))
				s.close()
			} else {
				err = w.grpc.conn.Invoke(t.Context(), "/"+serviceName+"/"+op, dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output()))
			}
			if c := status.Code(err); c == grpccodes.Unimplemented || c == grpccodes.Internal {
				t.Errorf("%s: %v", op, err)
			}
		}
		err := w.grpc.conn.Invoke(t.Context(), "/a2a.v9.A2AService/GetTask", &healthpb.HealthCheckRequest{}, &healthpb.HealthCheckResponse{})
		if status.Code(err) != grpccodes.Unimplemented {
			t.Errorf("another service: %v", err)
		}
	})
	t.Run("R-228 nothing on the wire that the specification does not have", func(t *testing.T) {
		s := w.openGRPC(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}, nil)
		for {
			m := dynamicpb.NewMessage(s.output)
			if s.grpc.RecvMsg(m) != nil {
				break
			}
			if u := m.GetUnknown(); len(u) > 0 {
				t.Errorf("unknown fields %x", u)
			}
		}
	})
	t.Run("R-230 R-231 the version and the extensions are metadata", func(t *testing.T) {
		w.refused(t, "VERSION_NOT_SUPPORTED", "GetTask", obj{"id": done}, "a2a-version", "99.0")
		w.refused(t, "VERSION_NOT_SUPPORTED", "SendStreamingMessage", obj{"message": say("x")}, "a2a-version", "0.4")
		w.ok(t, "GetTask", obj{"id": done}, "a2a-version", "1.0.1")
		w.ok(t, "GetTask", obj{"id": done}, "a2a-version", "")
	})
	t.Run("R-232 errors carry ErrorInfo, those about fields BadRequest", func(t *testing.T) {
		a := w.refused(t, "TASK_NOT_FOUND", "GetTask", obj{"id": "nobody"})
		equal(t, "domain", in(a.details[0], "domain"), "a2a-protocol.org")
		a = w.refused(t, invalid, "GetTask", obj{})
		if f := a.fields(); len(f) != 1 || f[0] != "id" {
			t.Errorf("fields %v", f)
		}
		bad := say("x")
		bad["role"], bad["parts"] = 7, []any{obj{"filename": "x"}}
		a = w.refused(t, invalid, "SendMessage", obj{"message": bad})
		if f := strings.Join(a.fields(), " "); !strings.Contains(f, "message.role") {
			t.Errorf("fields %v", f)
		}
	})
	t.Run("R-233 streams are of StreamResponse, and end with OK", func(t *testing.T) {
		for _, op := range []string{"SendStreamingMessage", "SubscribeToTask"} {
			m := w.grpc.service.Methods().ByName(protoreflect.Name(op))
			if !m.IsStreamingServer() || m.IsStreamingClient() || m.Output().FullName() != "lf.a2a.v1.StreamResponse" {
				t.Errorf("%s is not a server-streaming method of StreamResponse", op)
			}
		}
		events := w.open(t, "SendStreamingMessage", obj{"message": say("stream 20 1")}).all()
		if len(events) < 21 {
			t.Errorf("%d events", len(events))
		}
	})
	t.Run("large messages", func(t *testing.T) {
		task := w.send(t, say("echo "+strings.Repeat("x", 5<<20)))
		if n := len(text(task, "artifacts.0.parts.0.text")); n != 5<<20 {
			t.Errorf("%d bytes came back", n)
		}
		a := w.call(t, "SendMessage", obj{"message": say(strings.Repeat("x", 9<<20))})
		if a.fault == nil || a.fault.status != "RESOURCE_EXHAUSTED" {
			t.Errorf("9 MiB: %+v", a.fault)
		}
	})
	t.Run("positions and resuming, for those who ask", func(t *testing.T) {
		s := w.openGRPC(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}, []string{"last-event-id", "0"})
		first, seqs := positions(t, s)
		id := text(first, "task.id")
		if len(seqs) < 4 || seqs[0] == 0 {
			t.Fatalf("positions %v", seqs)
		}
		for i := 1; i < len(seqs); i++ {
			if seqs[i] <= seqs[i-1] {
				t.Errorf("positions %v", seqs)
			}
		}
		s = w.openGRPC(t, "SubscribeToTask", obj{"id": id}, []string{"last-event-id", compact(seqs[1])})
		_, again := positions(t, s)
		equal(t, "positions after resuming", again, seqs[1:])
		w.refused(t, invalid, "SubscribeToTask", obj{"id": id}, "last-event-id", "x")
	})
	t.Run("health", func(t *testing.T) {
		for service, want := range map[string]grpccodes.Code{"": grpccodes.OK, serviceName: grpccodes.OK, "nobody": grpccodes.NotFound} {
			res, err := healthpb.NewHealthClient(w.grpc.conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if status.Code(err) != want || err == nil && res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
				t.Errorf("%q: %v %v", service, res, err)
			}
		}
	})
}

// positions reads a stream's field 1000 to the stream's end.
func positions(t *testing.T, s *stream) (first any, seqs []uint64) {
	t.Helper()
	for {
		m := dynamicpb.NewMessage(s.output)
		if s.grpc.RecvMsg(m) != nil {
			return first, seqs
		}
		if first == nil {
			first = decode(t, asJSON(t, m))
		}
		number, _, n := protowire.ConsumeTag(m.GetUnknown())
		seq, _ := protowire.ConsumeVarint(m.GetUnknown()[max(n, 0):])
		if number != 1000 {
			t.Fatalf("an element with field %d: %v", number, m)
		}
		seqs = append(seqs, seq)
	}
}

// TestOnePort speaks HTTP/2 with a server in all ways that are not a grpc-go
// connection of its own.
func TestOnePort(t *testing.T) {
	t.Parallel()
	t.Run("HTTP+JSON and gRPC on one HTTP/2 connection in clear", func(t *testing.T) {
		url := start(t, agent.DemoCard(), agent.Demo(), nil)
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		t.Cleanup(transport.CloseIdleConnections)
		w := &wire{binding: rest, url: url, client: &http.Client{Transport: transport}}
		a := w.call(t, "SendMessage", obj{"message": say("echo over h2c")})
		equal(t, "text", in(a.result, "task.artifacts.0.parts.0.text"), "over h2c")
		if n := len(w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}).all()); n < 4 {
			t.Errorf("%d events", n)
		}
		rpcByHand(t, w.client, url)
	})
	t.Run("a server that is nothing but a handler has no gRPC and says so", func(t *testing.T) {
		s, err := parley.New(agent.DemoCard(), agent.Demo(), nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		hs := &http.Server{Handler: s.Handler()}
		go hs.Serve(l)
		defer hs.Close()
		w := dial(t, rest, "http://"+l.Addr().String())
		for _, i := range list(w.fetch(t, cardPath).result, "supportedInterfaces") {
			if text(i, "protocolBinding") == "GRPC" {
				t.Errorf("%s", compact(i))
			}
		}
	})
}

// rpcByHand makes one gRPC call with an HTTP/2 client.
func rpcByHand(t *testing.T, client *http.Client, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/"+serviceName+"/GetTask", strings.NewReader("\x00\x00\x00\x00\x03\x12\x01x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	got := res.Header.Get("Grpc-Status") + res.Trailer.Get("Grpc-Status")
	if res.ProtoMajor != 2 || got != "5" {
		t.Errorf("%s, grpc-status %q %v %v", res.Proto, got, res.Header, res.Trailer)
	}
}
