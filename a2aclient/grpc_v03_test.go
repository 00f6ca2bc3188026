package a2aclient_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/store"
)

// faceOf returns a client of one interface.
func faceOf(t *testing.T, addr, version string) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.New(&a2a.AgentCard{
		Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: addr, ProtocolBinding: a2a.BindingGRPC, ProtocolVersion: version}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A client of 0.3 over gRPC gets what a client of 1.0 gets, except generations.
func TestGRPCOfVersion03(t *testing.T) {
	addr := start(t)
	old, now := faceOf(t, addr, "0.3"), faceOf(t, addr, "1.0")
	req := func(text string, c *a2a.SendMessageConfiguration) *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{Configuration: c, Message: &a2a.Message{
			MessageID: "m-" + text, Role: a2a.RoleUser,
			Parts: []*a2a.Part{
				a2a.TextPart(text), a2a.RawPart([]byte{0, 255}, "application/pdf", "f.bin"), a2a.URLPart("http://h/x", "text/plain", ""),
				a2a.DataPart(a2a.JSON(`{"a":[1,null]}`)), a2a.DataPart(a2a.JSON(`[1]`)),
			},
			Metadata: a2a.JSON(`{"k":{"n":1.5}}`), Extensions: []string{"urn:x"},
		}}
	}
	res, err := old.SendMessage(t.Context(), req("echo hi", nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.Task == nil || res.Task.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("without a configuration it does not wait: %s", res.AppendJSON(nil))
	}
	got, err := old.GetTask(t.Context(), &a2a.GetTaskRequest{ID: res.Task.ID})
	if err != nil {
		t.Fatal(err)
	}
	want, err := now.GetTask(t.Context(), &a2a.GetTaskRequest{ID: res.Task.ID})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(got.AppendJSON(nil)), string(want.AppendJSON(nil)); a != b {
		t.Errorf("0.3 has\n%s\n1.0 has\n%s", a, b)
	}

	task, last := new(a2a.Task), int64(0)
	for el, err := range old.SendStreamingMessage(t.Context(), req("stream 5 1", nil)) {
		if err != nil {
			t.Fatal(err)
		}
		if el.Seq <= last {
			t.Errorf("element %d after %d", el.Seq, last)
		}
		last = el.Seq
		task.ApplyEvent(el)
	}
	want, err = now.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(task.AppendJSON(nil)), string(want.AppendJSON(nil)); a != b {
		t.Errorf("the fold of the stream is\n%s\nthe task\n%s", a, b)
	}

	for name, tt := range map[string]struct {
		call func(context.Context) error
		code a2a.Code
	}{
		"no task": {func(ctx context.Context) error {
			_, err := old.GetTask(ctx, &a2a.GetTaskRequest{ID: "a/b"})
			return err
		}, a2a.CodeTaskNotFound},
		"finished": {func(ctx context.Context) error {
			_, err := old.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			return err
		}, a2a.CodeTaskNotCancelable},
		"no lists": {func(ctx context.Context) error { _, err := old.ListTasks(ctx, &a2a.ListTasksRequest{}); return err }, a2a.CodeUnsupportedOperation},
		"a fault":  {func(ctx context.Context) error { _, err := old.GetTask(ctx, &a2a.GetTaskRequest{}); return err }, a2a.CodeInvalidParams},
	} {
		var e *a2a.Error
		if err := tt.call(t.Context()); !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// oneService hides a service, as a server has it that knows but one version.
func oneService(t *testing.T, addr, hidden string) string {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	s := &http.Server{Protocols: transport.Protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if strings.HasPrefix(r.URL.Path, "/"+hidden+"/") {
			w.Header().Set("Grpc-Status", "12")
			w.Header().Set("Grpc-Message", "unknown service "+hidden)
			return
		}
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", addr
		res, err := transport.RoundTrip(out)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		for k, vs := range res.Header {
			w.Header()[k] = vs
		}
		buf := make([]byte, 4<<10)
		for {
			n, err := res.Body.Read(buf)
			if _, werr := w.Write(buf[:n]); err != nil || werr != nil {
				break
			}
			_ = http.NewResponseController(w).Flush()
		}
		for k, vs := range res.Trailer {
			w.Header()[http.TrailerPrefix+k] = vs
		}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// A server may have only one of both services, and its card the other version.
func TestOneGRPCServiceOnly(t *testing.T) {
	addr := start(t)
	for _, tt := range []struct{ hidden, card string }{
		{"lf.a2a.v1.A2AService", "1.0"}, {"a2a.v1.A2AService", "0.3"},
		{"lf.a2a.v1.A2AService", "0.3"}, {"a2a.v1.A2AService", "1.0"},
	} {
		t.Run(tt.card+" without "+tt.hidden, func(t *testing.T) {
			c := faceOf(t, oneService(t, addr, tt.hidden), tt.card)
			req := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("stream 2 1")}}}
			task := new(a2a.Task)
			for el, err := range c.SendStreamingMessage(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				task.ApplyEvent(el)
			}
			if task.Status.State != a2a.TaskStateCompleted {
				t.Errorf("%s", task.AppendJSON(nil))
			}
			if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stream of 0.3 is resumed where the server has positions, also across a
// restart: every element comes once.
func TestGRPCOfVersion03AcrossARestart(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	addr, stop := startAt(t, "127.0.0.1:0", st)
	c := faceOf(t, addr, "0.3")
	req := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("stream 20 10")}}}
	task, last := new(a2a.Task), int64(0)
	for el, err := range c.SendStreamingMessage(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if el.Seq <= last {
			t.Errorf("element %d after %d", el.Seq, last)
		}
		if last = el.Seq; last == 8 {
			stop()
			_, stop = startAt(t, addr, st)
		}
		task.ApplyEvent(el)
	}
	defer stop()
	got, err := faceOf(t, addr, "1.0").GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(task.AppendJSON(nil)), string(got.AppendJSON(nil)); a != b || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the fold of the stream is\n%s\nthe task\n%s", a, b)
	}
}
