package a2aclient_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// headers keeps those of all requests that go through it.
type headers struct {
	base *http.Transport
	next http.RoundTripper
	all  *sentHeaders
}

type sentHeaders struct {
	mu   sync.Mutex
	list []http.Header
}

func (h *headers) Base() *http.Transport { return h.base }
func (h *headers) Over(next http.RoundTripper) http.RoundTripper {
	return &headers{h.base, next, h.all}
}
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	h.all.mu.Lock()
	h.all.list = append(h.all.list, r.Header.Clone())
	h.all.mu.Unlock()
	return h.next.RoundTrip(r)
}

func (s *sentHeaders) take() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// operations makes each operation once, for a task that has ended.
func operations(c *a2aclient.Client, task string) map[string]func(context.Context) error {
	say := func() *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{Message: &a2a.Message{
			MessageID: "m-1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo hello")}, ReferenceTaskIDs: []string{task},
		}}
	}
	all := func(seq func(func(*a2a.StreamResponse, error) bool)) (err error) {
		for _, err = range seq {
		}
		return err
	}
	return map[string]func(context.Context) error{
		"SendMessage": func(ctx context.Context) error { _, err := c.SendMessage(ctx, say()); return err },
		"SendStreamingMessage": func(ctx context.Context) error {
			r := say()
			r.Message.MessageID = "m-2"
			return all(c.SendStreamingMessage(ctx, r))
		},
		"SubscribeToTask": func(ctx context.Context) error {
			return all(c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task}))
		},
		"GetTask":   func(ctx context.Context) error { _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task}); return err },
		"ListTasks": func(ctx context.Context) error { _, err := c.ListTasks(ctx, &a2a.ListTasksRequest{}); return err },
		"CancelTask": func(ctx context.Context) error {
			_, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task})
			return err
		},
		"CreateTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.CreateTaskPushNotificationConfig(ctx, &a2a.TaskPushNotificationConfig{TaskID: task, ID: "p", URL: "https://example.com/hook"})
			return err
		},
		"GetTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{TaskID: task, ID: "p"})
			return err
		},
		"ListTaskPushNotificationConfigs": func(ctx context.Context) error {
			_, err := c.ListTaskPushNotificationConfigs(ctx, &a2a.ListTaskPushNotificationConfigsRequest{TaskID: task})
			return err
		},
		"DeleteTaskPushNotificationConfig": func(ctx context.Context) error {
			return c.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: task, ID: "p"})
		},
		"GetExtendedAgentCard": func(ctx context.Context) error {
			_, err := c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
			return err
		},
	}
}

// Each operation has one client's span, in each version and on each binding, and all
// its requests name it.
func TestOperationsHaveSpans(t *testing.T) {
	addr := start(t)
	for _, p := range append(slices.Clone(pairs), []struct{ version, binding string }{
		{"1.0", a2a.BindingJSONRPC}, {"1.0", a2a.BindingHTTPJSON}, {"1.0", a2a.BindingGRPC},
	}...) {
		t.Run(p.version+" "+p.binding, func(t *testing.T) {
			sent, base := new(sentHeaders), &http.Transport{}
			c, err := a2aclient.Dial(t.Context(), addr, &a2aclient.Options{
				Version: p.version, Bindings: []string{p.binding}, HTTPClient: &http.Client{Transport: &headers{base, base, sent}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer base.CloseIdleConnections()
			yes := true
			c.Card().Capabilities = a2a.AgentCapabilities{Streaming: &yes, PushNotifications: &yes, ExtendedAgentCard: &yes} // so that all are sent
			done, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
				MessageID: "m-0", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo hello")},
			}})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range sent.take() {
				if h.Get("Traceparent") != "" {
					t.Errorf("a request of no trace says %q", h.Get("Traceparent"))
				}
			}
			for name, call := range operations(c, done.Task.ID) {
				spans := tracetest.NewInMemoryExporter()
				tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
				state, _ := trace.ParseTraceState("rojo=1")
				ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
					TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state,
				}))
				ctx, root := tracer.Start(ctx, "work")
				failed := call(ctx)
				root.End()

				list := spans.GetSpans().Snapshots()
				if len(list) != 2 || list[0].Name() != name || list[0].SpanKind() != trace.SpanKindClient ||
					list[0].Parent().SpanID() != root.SpanContext().SpanID() {
					t.Errorf("%s (%v): %d spans: %v", name, failed, len(list), list)
					continue
				}
				span := list[0]
				requests := sent.take()
				for _, h := range requests {
					if want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"; h.Get("Traceparent") != want || h.Get("Tracestate") != "rojo=1" {
						t.Errorf("%s: a request says %q and %q, want %q", name, h.Get("Traceparent"), h.Get("Tracestate"), want)
					}
				}
				got := attribute.NewSet(span.Attributes()...)
				has := func(key, want string) {
					t.Helper()
					v, ok := got.Value(attribute.Key(key))
					if !ok || want != "*" && v.String() != want {
						t.Errorf("%s: %s is %q, want %q", name, key, v.String(), want)
					}
				}
				host, port, _ := strings.Cut(strings.TrimPrefix(addr, "http://"), ":")
				has("a2a.method.name", name)
				has("a2a.protocol.version", p.version)
				has("parley.binding", p.binding)
				has("gen_ai.agent.name", c.Card().Name)
				has("gen_ai.agent.version", c.Card().Version)
				has("server.address", host)
				has("server.port", port)
				switch {
				case strings.HasPrefix(name, "Send"):
					has("a2a.message.id", "*")
					has("a2a.message.reference_task_ids", `["`+done.Task.ID+`"]`)
					has("a2a.task.id", "*")
					has("a2a.task.state", "TASK_STATE_COMPLETED")
					has("gen_ai.conversation.id", "*")
				case strings.Contains(name, "Task") && name != "ListTasks":
					has("a2a.task.id", done.Task.ID)
				}
				if failed != nil {
					has("error.type", "*")
				}
				if _, marked := got.Value("error.type"); (failed != nil) != (span.Status().Code == codes.Error) || marked != (failed != nil) {
					t.Errorf("%s: the status is %v, but the error %v", name, span.Status(), failed)
				}
			}
		})
	}
}

// The provider of the options begins a trace where there is none, and the error of an
// agent is known by its code on the binding.
func TestProviderBeginsATrace(t *testing.T) {
	addr := start(t)
	for binding, want := range map[string]string{a2a.BindingJSONRPC: "-32001", a2a.BindingHTTPJSON: "404", a2a.BindingGRPC: "NOT_FOUND"} {
		spans := tracetest.NewInMemoryExporter()
		c, err := a2aclient.Dial(t.Context(), addr, &a2aclient.Options{
			Bindings: []string{binding}, TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"}); err == nil {
			t.Error("there is such a task")
		}
		list := spans.GetSpans().Snapshots()
		if len(list) != 1 || list[0].Parent().IsValid() {
			t.Fatalf("%d spans: %v", len(list), list)
		}
		set := attribute.NewSet(list[0].Attributes()...)
		if v, _ := set.Value("error.type"); v.AsString() != want {
			t.Errorf("%s: error.type is %q, want %q", binding, v.AsString(), want)
		}
	}
}

// Where nothing is recorded, requests of an agent's run name the trace that came with
// the message.
func TestTracesPassThrough(t *testing.T) {
	sent, base := new(sentHeaders), &http.Transport{}
	defer base.CloseIdleConnections()
	c, err := a2aclient.Dial(t.Context(), start(t), &a2aclient.Options{HTTPClient: &http.Client{Transport: &headers{base, base, sent}}})
	if err != nil {
		t.Fatal(err)
	}
	sent.take()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := a2a.WithCaller(t.Context(), a2a.Caller{Trace: parent, TraceState: "rojo=1"})
	if _, err := c.ListTasks(ctx, &a2a.ListTasksRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, h := range sent.take() {
		if h.Get("Traceparent") != parent || h.Get("Tracestate") != "rojo=1" {
			t.Errorf("the headers are %v", h)
		}
	}
}
