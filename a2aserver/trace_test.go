package a2aserver

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/telemetry"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestTracesOnEveryWire(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var got string
	svc := &fake{send: func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
		got = a2a.CallerFrom(ctx).Trace
		return &a2a.SendMessageResponse{Task: doneTask()}, nil
	}}
	addr, _ := limitedPort(t, svc, nil)
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		req := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}}
		for came, want := range map[string]string{trace: trace, "": "", "00-who-knows": ""} {
			_, err := c.SendMessage(a2a.WithCaller(t.Context(), a2a.Caller{Trace: came}), req)
			if err != nil || got != want {
				t.Errorf("%s: the trace %q of an agent that calls is %q to the one that is called, %v", wire, came, got, err)
			}
		}
	})
}

// conventional is the convention's table of a server span (open-telemetry/semantic-conventions-genai,
// docs/gen-ai/a2a.md at 6718089, "Server"): each attribute, and for which operations the
// calls of this test have it. Nil: for all of them.
var conventional = map[attribute.Key]func(dialect.Op) bool{
	"a2a.method.name":                nil,
	"a2a.message.id":                 isSend,
	"a2a.message.reference_task_ids": func(dialect.Op) bool { return false },
	"a2a.protocol.version":           nil,
	"a2a.task.id":                    func(op dialect.Op) bool { return op != dialect.ListTasks && op != dialect.GetExtendedAgentCard },
	"a2a.task.state": func(op dialect.Op) bool {
		return isSend(op) || slices.Contains([]dialect.Op{dialect.GetTask, dialect.CancelTask, dialect.SubscribeToTask}, op)
	},
	"a2a.tenant":               func(dialect.Op) bool { return false },
	"client.address":           nil,
	"client.port":              nil,
	"error.type":               func(dialect.Op) bool { return false },
	"gen_ai.agent.description": nil,
	"gen_ai.agent.name":        nil,
	"gen_ai.agent.version":     nil,
	"gen_ai.conversation.id": func(op dialect.Op) bool {
		return isSend(op) || slices.Contains([]dialect.Op{dialect.GetTask, dialect.CancelTask, dialect.SubscribeToTask}, op)
	},
	"server.address": nil,
	"server.port":    nil,
}

// ours are the attributes of Parley that the convention does not have.
var ours = map[attribute.Key]func(dialect.Op) bool{
	"parley.binding":       nil,
	"parley.dialect":       nil,
	"parley.stream.events": func(op dialect.Op) bool { return dialect.Get(op).Streams },
}

// ends are the spans that have ended. A handler ends its span when its answer is out.
type ends chan sdktrace.ReadOnlySpan

func (ends) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (e ends) OnEnd(s sdktrace.ReadOnlySpan)                 { e <- s }
func (ends) Shutdown(context.Context) error                  { return nil }
func (ends) ForceFlush(context.Context) error                { return nil }

func traced() (ends, *Options) {
	e := make(ends, 100)
	return e, &Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(e))}
}

func attrs(s sdktrace.ReadOnlySpan) map[attribute.Key]string {
	all := map[attribute.Key]string{}
	for _, a := range s.Attributes() {
		all[a.Key] = a.Value.String()
	}
	return all
}

// Every call of every operation has one span, in every dialect, by every binding, with
// the names and attributes of the convention.
func TestSpansAreConventional(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r, o := traced()
	addr, _ := limitedPort(t, agreeable{}, o)
	calls := 0
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		version, binding, _ := strings.Cut(wire, " ")
		for _, op := range dialect.Operations {
			ctx := a2a.WithCaller(t.Context(), a2a.Caller{Trace: parent})
			if err := ask(ctx, c, op.Op); errors.Is(err, a2a.ErrUnsupportedOperation) {
				continue // the dialect does not have it
			} else if err != nil {
				t.Errorf("%s %s: %v", wire, op.Op, err)
				continue
			}
			calls++
			span := <-r
			if span.Name() != op.Op.String() || span.SpanKind() != trace.SpanKindServer || span.Status().Code != otelcodes.Unset {
				t.Errorf("%s %s is a %s called %s, %v", wire, op.Op, span.SpanKind(), span.Name(), span.Status())
			}
			if isSend(op.Op) && span.Parent().SpanID().String() != "b7ad6b7169203331" {
				t.Errorf("%s %s is a child of %v", wire, op.Op, span.Parent())
			}
			got := attrs(span)
			for _, table := range []map[attribute.Key]func(dialect.Op) bool{conventional, ours} {
				for key, on := range table {
					if _, has := got[key]; has != (on == nil || on(op.Op)) {
						t.Errorf("%s %s has the attribute %s: %v", wire, op.Op, key, has)
					}
					delete(got, key)
				}
			}
			for key := range got {
				t.Errorf("%s %s has the attribute %s, which no table has", wire, op.Op, key)
			}
			spoken := version
			if version == "0.1" && op.Methods[dialect.V01] == op.Methods[dialect.V03] {
				spoken = "0.3" // the request does not tell the two apart
			}
			for key, want := range map[attribute.Key]string{
				"a2a.method.name": op.Op.String(), "a2a.protocol.version": spoken, "parley.dialect": spoken, "parley.binding": binding,
				"gen_ai.agent.name": "Fake", "gen_ai.agent.version": "1", "client.address": "127.0.0.1", "server.address": "127.0.0.1",
			} {
				if got := attrs(span)[key]; got != want {
					t.Errorf("%s %s: %s is %q, not %q", wire, op.Op, key, got, want)
				}
			}
		}
	})
	if calls < 60 {
		t.Errorf("only %d calls were made", calls)
	}
}

// A failure has the code that its binding answers with, and the name that all bindings
// share.
func TestFailuresInSpans(t *testing.T) {
	r, o := traced()
	svc := &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
		return nil, &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "no such task", Cause: errors.New("secret")}
	}}
	addr, _ := limitedPort(t, svc, o)
	want := map[string]string{a2a.BindingJSONRPC: "-32001", a2a.BindingHTTPJSON: "404", a2a.BindingGRPC: "NOT_FOUND"}
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
		if !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: %v", wire, err)
		}
		_, binding, _ := strings.Cut(wire, " ")
		span := <-r
		got := attrs(span)
		if got["error.type"] != want[binding] || got["parley.error.code"] != a2a.CodeTaskNotFound.String() || got["a2a.task.id"] != "t1" {
			t.Errorf("%s: %v", wire, got)
		}
		if s := span.Status(); s.Code != otelcodes.Error || s.Description != "no such task" {
			t.Errorf("%s: %v", wire, s)
		}
	})
	// A call that is refused at the entry has a span if its operation is known, and no
	// task.
	refusal, o := traced()
	o.Identity = refusing{&a2a.Error{Code: a2a.CodeUnauthenticated}}
	h := New(svc, auditCard(), o)
	do(h, http.MethodGet, "/tasks/t1", "")
	if span := <-refusal; span.Name() != "GetTask" || attrs(span)["error.type"] != "401" || len(refusal) != 0 {
		t.Errorf("%v, and %d more", attrs(span), len(refusal))
	}
}

// A call that is refused before its operation is known has one span, whose name is that of
// the conventions for RPC and HTTP, whatever the client sent.
func TestSpansOfCallsThatAreNotKnown(t *testing.T) {
	const parent = "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct {
		name               string
		method, path, body string
		stranger           bool
		span               string
		has                map[attribute.Key]string
	}{
		{name: "no credentials", method: "POST", path: "/", body: getTask("1"), stranger: true, span: "jsonrpc",
			has: map[attribute.Key]string{"rpc.system.name": "jsonrpc", "parley.error.code": a2a.CodeUnauthenticated.String()}},
		{name: "unknown method", method: "POST", path: "/", body: `{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`, span: "jsonrpc",
			has: map[attribute.Key]string{"rpc.method": "_OTHER", "error.type": "-32601"}},
		{name: "bad JSON", method: "POST", path: "/", body: `{"jsonrpc":`, span: "jsonrpc",
			has: map[attribute.Key]string{"error.type": "-32700", "parley.binding": "JSONRPC"}},
		{name: "too large", method: "POST", path: "/", body: `"` + strings.Repeat(long, 20) + `"`, span: "jsonrpc",
			has: map[attribute.Key]string{"parley.error.code": a2a.CodeTooLarge.String()}},
		{name: "no such path", method: "GET", path: "/" + long, span: "GET",
			has: map[attribute.Key]string{"http.request.method": "GET", "error.type": "404", "parley.binding": "HTTP+JSON"}},
		{name: "no such method", method: long[:20], path: "/tasks", span: "HTTP",
			has: map[attribute.Key]string{"http.request.method": "_OTHER", "http.request.method_original": long[:20], "error.type": "405"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, o := traced()
			o.MaxBody = 50_000
			if tt.stranger {
				o.Identity = refusing{&a2a.Error{Code: a2a.CodeUnauthenticated, Message: "who are you?"}}
			}
			do(New(&fake{}, auditCard(), o), tt.method, tt.path, tt.body, parent, "A2A-Version: 1.0", "Content-Type: application/json")
			checkUnknown(t, r, tt.span, tt.has)
		})
	}

	// Over gRPC only the name of another service is known.
	r, o := traced()
	addr, _ := limitedPort(t, &fake{}, o)
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if err := c.Invoke(ctx, "/no.such.Service/"+long[:100], &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("%v", err)
	}
	checkUnknown(t, r, "grpc", map[attribute.Key]string{"rpc.system.name": "grpc", "rpc.method": "_OTHER", "error.type": "UNIMPLEMENTED", "parley.binding": "GRPC"})
}

// A call that no agent gets has a span too: if a Host, the check of web pages, or its
// method stops it.
func TestSpansOfCallsThatNoAgentGets(t *testing.T) {
	const parent = "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct {
		name, method, path, header string
		span, code                 string
	}{
		{"no such agent", "POST", "/agents/b/tasks", "A2A-Version: 1.0", "POST", "404"},
		{"nothing at the path", "GET", "/nothing", "A2A-Version: 1.0", "GET", "404"},
		{"a page of another origin", "POST", "/agents/a/", "Origin: https://example.org", "jsonrpc", a2a.CodePermissionDenied.String()},
		{"a card that is posted", "POST", "/agents/a" + cardPath, "A2A-Version: 1.0", "POST", "405"},
		{"a card with a bad Host", "GET", "/agents/a" + cardPath, "", "GET", "400"},
		{"a search by GET", "GET", searchPath, "", "GET", "405"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, o := traced()
			h, err := NewHost([]Route{{Name: "a", Service: &fake{}, Card: testCard()}}, o)
			if err != nil {
				t.Fatal(err)
			}
			q := httptest.NewRequest(tt.method, tt.path, nil)
			if tt.code == "400" {
				q.Host = "a b"
			}
			for _, line := range []string{parent, tt.header} {
				if name, value, ok := strings.Cut(line, ": "); ok {
					q.Header.Set(name, value)
				}
			}
			h.ServeHTTP(httptest.NewRecorder(), q)
			if len(r) == 0 {
				t.Fatal("it has no span")
			}
			has := map[attribute.Key]string{"error.type": tt.code}
			if tt.span == "jsonrpc" {
				has = map[attribute.Key]string{"parley.error.code": tt.code}
			}
			checkUnknown(t, r, tt.span, has)
		})
	}
}

func checkUnknown(t *testing.T, r ends, name string, has map[attribute.Key]string) {
	t.Helper()
	span := <-r
	if span.Name() != name || span.SpanKind() != trace.SpanKindServer || span.Status().Code != otelcodes.Error || len(r) != 0 {
		t.Errorf("it is a %s called %.40q, %v, and %d more", span.SpanKind(), span.Name(), span.Status(), len(r))
	}
	if span.Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("it is a child of %v", span.Parent())
	}
	got := attrs(span)
	for key, want := range has {
		if got[key] != want {
			t.Errorf("%s is %q, not %q", key, got[key], want)
		}
	}
	for key, value := range got {
		if len(value) > 256 || strings.HasPrefix(string(key), "a2a.") {
			t.Errorf("it has %s: %.300q", key, value)
		}
	}
	if got["error.type"] == "" || got["client.address"] == "" {
		t.Errorf("%v", got)
	}
}

// A stream's span ends with the stream, counts its events, and has the position from
// which it resumed.
func TestSpansOfStreams(t *testing.T) {
	r, o := traced()
	svc := &fake{subscribe: func(_ context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
		return yields(
			&a2a.StreamResponse{Task: cannedTask(req.ID, a2a.TaskStateWorking), Seq: 8},
			&a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: req.ID, ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}, Seq: 9},
		)
	}}
	h := New(svc, auditCard(), o)
	do(h, http.MethodGet, "/tasks/t1:subscribe", "", "Last-Event-ID: 7", "A2A-Version: 1.0")
	got := attrs(<-r)
	for key, want := range map[attribute.Key]string{
		"parley.stream.resumed_from": "7", "parley.stream.events": "2", "a2a.task.state": "TASK_STATE_COMPLETED", "a2a.task.id": "t1",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, not %q", key, got[key], want)
		}
	}
}

// The service gets the span, in the context and with the caller; a trace in metadata
// counts if no header has one. Text that a client chose is cut to a limit.
func TestServicesGetTheSpan(t *testing.T) {
	const header, inside = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
	var caller a2a.Caller
	var ctx context.Context
	svc := &fake{send: func(c context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
		ctx, caller = c, a2a.CallerFrom(c)
		return &a2a.SendMessageResponse{Task: doneTask()}, nil
	}}
	body := func(metadata, of string) string {
		return `{"message":{"messageId":"` + strings.Repeat("m", 1000) + `","role":"ROLE_USER","parts":[{"text":"x"}],"referenceTaskIds":["t0"]` + metadata + `}` + of + `}`
	}
	extension := `,"metadata":{"a":1,"https://example.org/trace":{"traceparent":"` + inside + `","tracestate":"k=v"}}`
	for _, tt := range []struct {
		metadata, of string
		headers      []string
		parent       string
		state        string
	}{
		{"", "", nil, "", ""},
		{"", "", []string{"Traceparent: " + header, "Tracestate: a=1", "Tracestate: b=2"}, header, "a=1,b=2"},
		{extension, "", nil, inside, "k=v"},
		{"", extension, nil, inside, "k=v"},
		{extension, "", []string{"Traceparent: " + header}, header, ""},
		{`,"metadata":{"x":{"traceparent":7}}`, "", nil, "", ""},
		{`,"metadata":{"x":"\"traceparent\""}`, "", []string{"Tracestate: a=1"}, "", ""},
	} {
		r, o := traced()
		h := New(svc, auditCard(), o)
		w := do(h, http.MethodPost, "/message:send", body(tt.metadata, tt.of), append(tt.headers, "Content-Type: application/json", "A2A-Version: 1.0")...)
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		span := <-r
		want := telemetry.SpanContext(tt.parent, tt.state)
		if span.Parent().SpanID() != want.SpanID() || want.IsValid() && span.SpanContext().TraceID() != want.TraceID() {
			t.Errorf("%+v: the span is a child of %v", tt, span.Parent())
		}
		text, state := telemetry.Format(span.SpanContext())
		if caller.Trace != text || caller.TraceState != state || state != tt.state || trace.SpanContextFromContext(ctx).SpanID() != span.SpanContext().SpanID() {
			t.Errorf("%+v: the service gets %q %q", tt, caller.Trace, caller.TraceState)
		}
		if got := attrs(span); len(got["a2a.message.id"]) != 256 || got["a2a.message.reference_task_ids"] != `["t0"]` {
			t.Errorf("%v", got)
		}

		// Without tracing the client's trace is passed on unchanged.
		do(New(svc, auditCard(), nil), http.MethodPost, "/message:send", body(tt.metadata, tt.of), append(tt.headers, "Content-Type: application/json", "A2A-Version: 1.0")...)
		if caller.Trace != tt.parent || caller.TraceState != tt.state {
			t.Errorf("%+v: without tracing the service gets %q %q", tt, caller.Trace, caller.TraceState)
		}
	}
}
