package conformance

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// oldService is the service of version 0.3.
const oldService = "a2a.v1.A2AService"

// explorer is a gRPC client that knows nothing but what reflection says, as a
// tool for the command line does.
type explorer struct {
	t    *testing.T
	conn *grpc.ClientConn
	md   []string // pairs, of every call
}

func explore(t *testing.T, conn *grpc.ClientConn, md ...string) *explorer {
	return &explorer{t, conn, md}
}

func (x *explorer) services() []string {
	x.t.Helper()
	stream, err := reflectionpb.NewServerReflectionClient(x.conn).ServerReflectionInfo(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		x.t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		x.t.Fatal(err)
	}
	_ = stream.CloseSend()
	var names []string
	for _, s := range res.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return names
}

// call makes a call of any method. All messages are returned as JSON.
func (x *explorer) call(service, method string, params any) (messages []any, err error) {
	x.t.Helper()
	m := describe(x.t, x.conn, service).Methods().ByName(protoreflect.Name(method))
	if m == nil {
		x.t.Fatalf("%s has no %s", service, method)
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	req := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal([]byte(compact(params)), req); err != nil {
		x.t.Fatalf("%s is not for %s: %v", compact(params), method, err)
	}
	stream, err := x.conn.NewStream(metadata.AppendToOutgoingContext(ctx, x.md...),
		&grpc.StreamDesc{ServerStreams: true}, "/"+service+"/"+method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(req); err != nil && err != io.EOF {
		return nil, err
	}
	_ = stream.CloseSend()
	for {
		res := dynamicpb.NewMessage(m.Output())
		switch err := stream.RecvMsg(res); {
		case err == io.EOF:
			return messages, nil
		case err != nil:
			return messages, err
		}
		if u := res.GetUnknown(); len(u) > 0 {
			x.t.Errorf("%s: fields that are not described: %x", method, u)
		}
		messages = append(messages, decode(x.t, asJSON(x.t, res)))
	}
}

// one is call for an answer of one message.
func (x *explorer) one(service, method string, params any) any {
	x.t.Helper()
	list, err := x.call(service, method, params)
	if err != nil || len(list) != 1 {
		x.t.Fatalf("%s: %d messages, %v", method, len(list), err)
	}
	return list[0]
}

// refused is call for one that fails.
func (x *explorer) refused(service, method string, params any) *fault {
	x.t.Helper()
	list, err := x.call(service, method, params)
	if err == nil {
		x.t.Fatalf("%s is not refused: %s", method, compact(list))
	}
	return grpcFault(x.t, err)
}

// sayOld is a message as 0.3 has it over gRPC.
func sayOld(words string, more ...any) obj {
	m := say(words, more...)
	m["content"] = m["parts"]
	delete(m, "parts")
	return m
}

// TestGRPCServices: a client that asks the port for its services can call it in both
// versions.
func TestGRPCServices(t *testing.T) {
	t.Parallel()
	url := start(t, agent.DemoCard(), agent.Demo(), nil)
	conn := dialGRPC(t, hostOf(url)).conn
	x := explore(t, conn)
	equal(t, "the services", x.services(), []string{oldService, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", serviceName})

	health := healthpb.NewHealthClient(conn)
	watch, err := health.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	for is := healthpb.HealthCheckResponse_UNKNOWN; is != healthpb.HealthCheckResponse_SERVING; { // once it is in the store
		var res *healthpb.HealthCheckResponse
		if err == nil {
			res, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		is = res.GetStatus()
	}
	for _, name := range []string{"", serviceName, oldService} {
		res, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		if err != nil || res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v %v", name, res, err)
		}
	}
	t.Run("a task in one version is the same in the other", func(t *testing.T) {
		old := x.one(oldService, "SendMessage", obj{"message": sayOld("echo hello"), "configuration": obj{"blocking": true}})
		id := text(old, "task.id")
		equal(t, "the state", text(old, "task.status.state"), "TASK_STATE_COMPLETED")
		equal(t, "the answer", text(old, "task.artifacts.0.parts.0.text"), "hello")
		equal(t, "the history", text(old, "task.history.0.content.0.text"), "echo hello")
		now := x.one(serviceName, "GetTask", obj{"id": id})
		equal(t, "the answer in 1.0", text(now, "artifacts.0.parts.0.text"), "hello")
		for _, name := range []string{"tasks/" + id, id} {
			equal(t, "the task "+name, text(x.one(oldService, "GetTask", obj{"name": name}), "id"), id)
		}
		if f := x.refused(oldService, "CancelTask", obj{"name": "tasks/" + id}); f.status != "FAILED_PRECONDITION" || f.reason() != "TASK_NOT_CANCELABLE" {
			t.Errorf("%+v", f)
		}
		stream, err := x.call(oldService, "TaskSubscription", obj{"name": "tasks/" + id})
		if err != nil || len(stream) != 1 || text(stream[0], "task.id") != id {
			t.Errorf("subscribing to a finished task: %s %v", compact(stream), err)
		}
		if f := x.refused(serviceName, "SubscribeToTask", obj{"id": id}); f.reason() != "UNSUPPORTED_OPERATION" {
			t.Errorf("in 1.0: %+v", f)
		}
	})
	t.Run("streams", func(t *testing.T) {
		old, err := x.call(oldService, "SendStreamingMessage", obj{"message": sayOld("stream 3 1")})
		if err != nil || len(old) < 4 {
			t.Fatalf("%s %v", compact(old), err)
		}
		if text(old[0], "task.id") == "" {
			t.Errorf("it begins with %s", compact(old[0]))
		}
		for i, m := range old {
			if last := i == len(old)-1; (in(m, "statusUpdate.final") == true) != last {
				t.Errorf("message %d of %d: %s", i, len(old), compact(m))
			}
		}
		now, err := x.call(serviceName, "SendStreamingMessage", obj{"message": say("stream 3 1")})
		if err != nil || len(now) < 4 {
			t.Errorf("in 1.0: %s %v", compact(now), err)
		}
	})
	t.Run("a configuration without blocking returns at once, none blocks", func(t *testing.T) {
		res := x.one(oldService, "SendMessage", obj{"message": sayOld("stream 2 300"), "configuration": obj{"historyLength": 5}})
		if s := text(res, "task.status.state"); terminal(s) {
			t.Errorf("the task is %s", s)
		}
		res = x.one(oldService, "SendMessage", obj{"message": sayOld("stream 2 1")})
		equal(t, "the state", text(res, "task.status.state"), "TASK_STATE_COMPLETED")
	})
	t.Run("the card", func(t *testing.T) {
		f := x.refused(oldService, "GetAgentCard", obj{})
		if f.reason() != "EXTENDED_AGENT_CARD_NOT_CONFIGURED" || f.status != "UNIMPLEMENTED" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("errors have a word, a status and an ErrorInfo", func(t *testing.T) {
		push := obj{"url": "https://example.org/hook"}
		off := explore(t, dialGRPC(t, hostOf(start(t, withoutPush(), agent.Demo(), nil))).conn)
		for _, tt := range []struct {
			method         string
			params         obj
			status, reason string
			word           string
		}{
			{"GetTask", obj{"name": "tasks/nobody"}, "NOT_FOUND", "TASK_NOT_FOUND", "TASK_NOT_FOUND"},
			{"GetTask", obj{}, "INVALID_ARGUMENT", "INVALID_PARAMS", "INVALID_PARAMS"},
			{"SendMessage", obj{"message": sayOld("x", "role", 9)}, "INVALID_ARGUMENT", "INVALID_PARAMS", "INVALID_PARAMS"},
			{"SendStreamingMessage", obj{"message": obj{"messageId": "m"}}, "INVALID_ARGUMENT", "INVALID_PARAMS", "INVALID_PARAMS"},
			{"TaskSubscription", obj{"name": "tasks/nobody"}, "NOT_FOUND", "TASK_NOT_FOUND", "TASK_NOT_FOUND"},
			{
				"CreateTaskPushNotificationConfig", obj{"parent": "tasks/x", "configId": "c", "config": obj{"name": "n", "pushNotificationConfig": push}},
				"UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED", "PUSH_NOTIFICATIONS_NOT_SUPPORTED",
			},
			{
				"ListTaskPushNotificationConfig", obj{"parent": "tasks/x"},
				"UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED", "PUSH_NOTIFICATIONS_NOT_SUPPORTED",
			},
		} {
			y := x
			if tt.reason == "PUSH_NOTIFICATION_NOT_SUPPORTED" {
				y = off
			}
			f := y.refused(oldService, tt.method, tt.params)
			if f.status != tt.status || f.reason() != tt.reason || !strings.HasPrefix(f.message, tt.word+": ") {
				t.Errorf("%s %s: %s %s %q", tt.method, compact(tt.params), f.status, f.reason(), f.message)
			}
		}
		err := conn.Invoke(t.Context(), "/"+oldService+"/ListTasks", &healthpb.HealthCheckRequest{}, &healthpb.HealthCheckResponse{})
		if status.Code(err) != grpccodes.Unimplemented || !strings.Contains(err.Error(), "METHOD_NOT_FOUND") {
			t.Errorf("a method that 0.3 does not have: %v", err)
		}
	})
	t.Run("versions", func(t *testing.T) {
		id := text(x.one(serviceName, "SendMessage", obj{"message": say("echo x")}), "task.id")
		for _, tt := range []struct {
			service, version string
			generation       bool
		}{
			{serviceName, "1.0", false}, {serviceName, "1.1", true}, {serviceName, "0.3", false},
			{oldService, "0.3", false}, {oldService, "0.2.5", false}, {oldService, "1.0", false}, {oldService, "1.1", false},
		} {
			params := obj{"id": id}
			if tt.service == oldService {
				params = obj{"name": "tasks/" + id}
			}
			task := explore(t, conn, "a2a-version", tt.version).one(tt.service, "GetTask", params)
			if text(task, "id") != id || has(task, "generation") != tt.generation {
				t.Errorf("%s in %s: %s", tt.service, tt.version, compact(task))
			}
		}
		for _, service := range []string{serviceName, oldService} {
			f := explore(t, conn, "a2a-version", "0.9").refused(service, "GetTask", obj{})
			if f.reason() != "VERSION_NOT_SUPPORTED" || f.status != "FAILED_PRECONDITION" {
				t.Errorf("%s: %+v", service, f)
			}
		}
		waits := text(x.one(serviceName, "SendMessage", obj{"message": say("ask")}), "task.id")
		f := explore(t, conn, "a2a-version", "1.1").refused(serviceName, "SendMessage",
			obj{"message": say("x", "taskId", waits), "configuration": obj{"ifGenerationMatch": 99}})
		if f.status != "ABORTED" || f.reason() != "TASK_GENERATION_MISMATCH" {
			t.Errorf("a generation that is not the task's: %+v", f)
		}
	})
}

// The card of 0.3 over gRPC is the extended one, with the addresses for 0.3,
// and extensions have their old name there.
func TestGRPCServicesCard(t *testing.T) {
	t.Parallel()
	card, extended := agent.DemoCard(), agent.DemoCard()
	card.Capabilities.ExtendedAgentCard = new(true)
	card.Capabilities.Extensions = []*a2a.AgentExtension{{URI: "urn:ours"}}
	extended.Name = "for you"
	url := start(t, card, agent.Demo(), &parley.Options{ExtendedCard: &extended})
	conn := dialGRPC(t, hostOf(url)).conn
	x := explore(t, conn)
	got := x.one(oldService, "GetAgentCard", obj{})
	equal(t, "the name", text(got, "name"), "for you")
	equal(t, "the version", text(got, "protocolVersion"), "0.3.0")
	equal(t, "the address", text(got, "url")+" "+text(got, "preferredTransport"), hostOf(url)+" GRPC")
	var transports []string
	for _, i := range list(got, "additionalInterfaces") {
		transports = append(transports, text(i, "transport"))
	}
	slices.Sort(transports)
	equal(t, "the transports", transports, []string{"GRPC", "HTTP+JSON", "JSONRPC"})
	equal(t, "the name in 1.0", text(x.one(serviceName, "GetExtendedAgentCard", obj{}), "name"), "for you")

	for service, header := range map[string]string{serviceName: "a2a-extensions", oldService: "x-a2a-extensions"} {
		for _, asked := range []string{"a2a-extensions", "x-a2a-extensions"} {
			m := describe(t, conn, service).Methods().ByName("SendMessage")
			req := dynamicpb.NewMessage(m.Input())
			said := obj{"messageId": "m" + service + asked, "role": "ROLE_USER", "parts": []any{obj{"text": "echo x"}}, "content": []any{obj{"text": "echo x"}}}
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(compact(obj{"message": said})), req); err != nil {
				t.Fatal(err)
			}
			var back metadata.MD
			ctx := metadata.AppendToOutgoingContext(t.Context(), asked, "urn:other, urn:ours")
			if err := conn.Invoke(ctx, "/"+service+"/SendMessage", req, dynamicpb.NewMessage(m.Output()), grpc.Header(&back)); err != nil {
				t.Fatal(err)
			}
			equal(t, service+" asked by "+asked, back.Get(header), []string{"urn:ours"})
		}
	}
}
