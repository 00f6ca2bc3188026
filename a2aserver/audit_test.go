package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/dialect"
)

// agreeable is a Service that does what it is asked.
type agreeable struct{ a2a.Unimplemented }

func task(id string) *a2a.Task {
	return &a2a.Task{ID: id, ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
}

func (agreeable) SendMessage(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return &a2a.SendMessageResponse{Task: task("new")}, nil
}

func (agreeable) SendStreamingMessage(context.Context, *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return yields(&a2a.StreamResponse{Task: task("new")})
}

func (agreeable) SubscribeToTask(_ context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return yields(&a2a.StreamResponse{Task: task(req.ID)})
}

func (agreeable) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if req.ID == "denied" {
		return nil, &a2a.Error{Code: a2a.CodePermissionDenied, Meta: map[string]string{"scope": a2a.ScopeTasksRead}}
	}
	return task(req.ID), nil
}

func (agreeable) ListTasks(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return &a2a.ListTasksResponse{}, nil
}

func (agreeable) CancelTask(_ context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return task(req.ID), nil
}

func (agreeable) CreateTaskPushNotificationConfig(_ context.Context, c *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	made := *c
	made.ID = "made"
	return &made, nil
}

func (agreeable) GetTaskPushNotificationConfig(_ context.Context, req *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	return &a2a.TaskPushNotificationConfig{TaskID: req.TaskID, ID: req.ID, URL: "https://example.org/"}, nil
}

func (agreeable) ListTaskPushNotificationConfigs(context.Context, *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	return &a2a.ListTaskPushNotificationConfigsResponse{}, nil
}

func (agreeable) DeleteTaskPushNotificationConfig(context.Context, *a2a.DeleteTaskPushNotificationConfigRequest) error {
	return nil
}

func (agreeable) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return auditCard(), nil
}

func auditCard() *a2a.AgentCard {
	c := testCard()
	yes := true
	c.Capabilities.Streaming, c.Capabilities.PushNotifications, c.Capabilities.ExtendedAgentCard = &yes, &yes, &yes
	return c
}

// keyed lets every caller in by one key.
type keyed struct{ key string }

func (k keyed) Authenticate(r *http.Request) (a2a.Caller, error) {
	if r.Header.Get("X-API-Key") == k.key {
		return a2a.Caller{Subject: "key:ada", Tenant: "acme", Via: "key 3fb0c2"}, nil
	}
	return a2a.Caller{}, &a2a.Error{Code: a2a.CodeUnauthenticated, Cause: errors.New("key 77 was revoked")}
}

func (keyed) Challenges(*a2a.Error) []string { return nil }

// lines is an audit log in memory.
type lines struct {
	wrote chan struct{} // a hint that there is more

	mu sync.Mutex
	b  bytes.Buffer
}

func newLines() *lines { return &lines{wrote: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// take returns the records so far, and forgets them.
func (l *lines) take(t testing.TB) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []map[string]any
	for line := range strings.Lines(l.b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		list = append(list, m)
	}
	l.b.Reset()
	return list
}

// auditedPort serves svc with an audit log.
func auditedPort(t testing.TB, svc a2a.Service, id Identity) (addr string, log *lines) {
	t.Helper()
	log = newLines()
	s := New(svc, auditCard(), &Options{Audit: slog.New(AuditHandler(log)), Identity: id})
	return onPort(t, s, nil), log
}

// asking returns a request of each operation.
func asking(op dialect.Op) any {
	req := dialect.NewRequest(op)
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		q.Message = &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi")}}
	case *a2a.GetTaskRequest:
		q.ID = "t1"
	case *a2a.CancelTaskRequest:
		q.ID = "t1"
	case *a2a.SubscribeToTaskRequest:
		q.ID = "t1"
	case *a2a.TaskPushNotificationConfig:
		q.TaskID, q.URL, q.Token = "t1", "https://example.org/hook", "whsec_x"
	case *a2a.GetTaskPushNotificationConfigRequest:
		q.TaskID, q.ID = "t1", "p1"
	case *a2a.ListTaskPushNotificationConfigsRequest:
		q.TaskID = "t1"
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		q.TaskID, q.ID = "t1", "p1"
	}
	return req
}

func ask(ctx context.Context, svc a2a.Service, op dialect.Op) error {
	if !dialect.Get(op).Streams {
		_, err := dialect.Call(ctx, svc, op, asking(op))
		return err
	}
	for _, err := range dialect.Stream(ctx, svc, op, asking(op)) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Every operation of the table leaves its records, in every version and binding: who
// called, what, for which task, and the outcome.
func TestEveryCallIsAudited(t *testing.T) {
	addr, log := auditedPort(t, agreeable{}, keyed{"right"})
	for _, version := range []string{"1.0", "0.3", "1.1"} {
		d, _ := dialect.ParseVersion(version)
		for _, binding := range d.Bindings() {
			c, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{
				Version: version, Bindings: []string{binding}, APIKey: "right", Retries: -1,
			})
			if err != nil {
				t.Fatal(err)
			}
			log.take(t)
			for _, o := range dialect.Operations {
				name := fmt.Sprintf("%s %s %s", version, binding, o.Op)
				if binding == a2a.BindingGRPC && dialect.GRPCOf(d).Method(o.Op) == "" {
					continue
				}
				if err := ask(t.Context(), c, o.Op); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				records := log.take(t)
				want := map[string]any{
					"event": AuditCall, "outcome": "ok", "op": o.Op.String(), "version": version, "binding": binding,
					"subject": "key:ada", "tenant": "acme", "via": "key 3fb0c2",
				}
				switch asking(o.Op).(type) {
				case *a2a.SendMessageRequest:
					want["task"] = "new"
				case *a2a.ListTasksRequest, *a2a.GetExtendedAgentCardRequest:
				case *a2a.TaskPushNotificationConfig:
					want["task"], want["config"] = "t1", "made"
				case *a2a.GetTaskPushNotificationConfigRequest, *a2a.DeleteTaskPushNotificationConfigRequest:
					want["task"], want["config"] = "t1", "p1"
				default:
					want["task"] = "t1"
				}
				if len(records) == 0 {
					t.Errorf("%s: no record", name)
					continue
				}
				for k, v := range want {
					if records[0][k] != v {
						t.Errorf("%s: %s is %v, not %v, in %v", name, k, records[0][k], v, records[0])
					}
				}
				if records[0]["remote"] == nil || records[0]["ms"] == nil || records[0]["time"] == nil {
					t.Errorf("%s: no remote, ms or time in %v", name, records[0])
				}
				if o.Streams {
					want["event"] = AuditStreamEnded
					records = append(records, awaitRecords(t, log, 2-len(records))...)
					for k, v := range want {
						if len(records) != 2 || records[1][k] != v {
							t.Errorf("%s: %s is not %v in the second of %v", name, k, v, records)
							break
						}
					}
				} else if len(records) != 1 {
					t.Errorf("%s: %d records", name, len(records))
				}
			}
		}
	}
}

// awaitRecords returns n more records, which are about to be written.
func awaitRecords(t testing.TB, log *lines, n int) (list []map[string]any) {
	t.Helper()
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for len(list) < n {
		select {
		case <-log.wrote:
			list = append(list, log.take(t)...)
		case <-limit.C:
			t.Fatalf("%d records are missing", n-len(list))
		}
	}
	return list
}

// Refusals have their reason in the record, at every entry point; a call whose
// operation is not known yet has none.
func TestRefusalsAreAudited(t *testing.T) {
	addr, log := auditedPort(t, agreeable{}, keyed{"right"})
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		for _, tt := range []struct {
			key, task string
			want      map[string]any
		}{
			{"wrong", "t1", map[string]any{"outcome": "UnauthenticatedError", "denied": true, "subject": nil, "reason": "key 77 was revoked", "task": nil}},
			{"right", "denied", map[string]any{"outcome": "PermissionDeniedError", "denied": true, "subject": "key:ada", "scope": "tasks:read", "task": "denied"}},
		} {
			c, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Bindings: []string{binding}, APIKey: tt.key, Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			log.take(t)
			if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: tt.task}); err == nil {
				t.Errorf("%s %s: no error", binding, tt.key)
			}
			records := log.take(t)
			if len(records) != 1 {
				t.Fatalf("%s: %d records", binding, len(records))
			}
			tt.want["op"] = "GetTask"
			if binding == a2a.BindingJSONRPC && tt.key == "wrong" {
				tt.want["op"] = nil // its body is not read
			}
			for k, v := range tt.want {
				if records[0][k] != v {
					t.Errorf("%s: %s is %v, not %v", binding, k, records[0][k], v)
				}
			}
		}
	}
}

// The record of a stream's end says whether the client or the server ended it.
func TestStreamEndsAreAudited(t *testing.T) {
	log := newLines()
	halt := make(chan struct{})
	s := New(&fake{stream: func(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			if yield(&a2a.StreamResponse{Task: task("t1")}, nil) {
				close(halt)
				<-ctx.Done()
			}
		}
	}}, testCard(), &Options{Audit: slog.New(AuditHandler(log))})
	ctx, leave := context.WithCancel(t.Context())
	for _, tt := range []struct {
		outcome string
		end     func()
	}{{audit.Left, leave}, {"UnavailableError", s.Drain}} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x/message:stream", strings.NewReader(sendBodyOf("hi")))
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-log.wrote: // of the last one
		default:
		}
		go func() {
			<-halt
			<-log.wrote // the stream has begun
			tt.end()
		}()
		s.ServeHTTP(new(discarded), r)
		records := log.take(t)
		if len(records) != 2 || records[0]["outcome"] != "ok" || records[1]["event"] != AuditStreamEnded || records[1]["outcome"] != tt.outcome {
			t.Errorf("want ok and then %s: %v", tt.outcome, records)
		}
		ctx, halt = t.Context(), make(chan struct{})
	}
}

func sendBodyOf(text string) string {
	return `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
}

// discarded is a ResponseWriter.
type discarded struct{ h http.Header }

func (d *discarded) Header() http.Header {
	if d.h == nil {
		d.h = http.Header{}
	}
	return d.h
}
func (*discarded) Write(p []byte) (int, error) { return len(p), nil }
func (*discarded) WriteHeader(int)             {}
