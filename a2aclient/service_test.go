package a2aclient

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// The operations, each with a request and a result that is more than zero.
func operations(c *Client) map[dialect.Op]func(ctx context.Context) (any, error) {
	n := int32(3)
	return map[dialect.Op]func(ctx context.Context) (any, error){
		dialect.SendMessage: func(ctx context.Context) (any, error) { return c.SendMessage(ctx, hello()) },
		dialect.SendStreamingMessage: func(ctx context.Context) (any, error) {
			return only(c.SendStreamingMessage(ctx, hello()))
		},
		dialect.GetTask: func(ctx context.Context) (any, error) {
			return c.GetTask(ctx, &a2a.GetTaskRequest{ID: "a/b: é", HistoryLength: &n})
		},
		dialect.ListTasks: func(ctx context.Context) (any, error) {
			return c.ListTasks(ctx, &a2a.ListTasksRequest{
				ContextID: "c&1", Status: a2a.TaskStateWorking, PageSize: &n, PageToken: "x=",
				StatusTimestampAfter: time.UnixMilli(1700000000123).UTC(), IncludeArtifacts: true,
			})
		},
		dialect.CancelTask: func(ctx context.Context) (any, error) {
			return c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "t1", Metadata: a2a.JSON(`{"why":1}`)})
		},
		dialect.SubscribeToTask: func(ctx context.Context) (any, error) {
			return only(c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "t1"}))
		},
		dialect.CreateTaskPushNotificationConfig: func(ctx context.Context) (any, error) {
			return c.CreateTaskPushNotificationConfig(ctx, &a2a.TaskPushNotificationConfig{TaskID: "t1", URL: "https://h/hook"})
		},
		dialect.GetTaskPushNotificationConfig: func(ctx context.Context) (any, error) {
			return c.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t1", ID: "p1"})
		},
		dialect.ListTaskPushNotificationConfigs: func(ctx context.Context) (any, error) {
			return c.ListTaskPushNotificationConfigs(ctx, &a2a.ListTaskPushNotificationConfigsRequest{TaskID: "t1", PageSize: 2})
		},
		dialect.DeleteTaskPushNotificationConfig: func(ctx context.Context) (any, error) {
			return nil, c.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: "t1", ID: "p1"})
		},
		dialect.GetExtendedAgentCard: func(ctx context.Context) (any, error) {
			return c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
		},
	}
}

func only(seq iter.Seq2[*a2a.StreamResponse, error]) (any, error) {
	els, err := collect(seq)
	if err != nil || len(els) != 1 {
		return els, err
	}
	return els[0], nil
}

func results() map[dialect.Op]any {
	task := counting(2).at(5)
	card := cardAt("http://h", a2a.BindingJSONRPC)
	card.Name = "Extended"
	return map[dialect.Op]any{
		dialect.SendMessage:                      &a2a.SendMessageResponse{Task: task},
		dialect.SendStreamingMessage:             &a2a.StreamResponse{Message: hello().Message},
		dialect.GetTask:                          task,
		dialect.ListTasks:                        &a2a.ListTasksResponse{Tasks: []*a2a.Task{task}, NextPageToken: "n", PageSize: 3, TotalSize: 9},
		dialect.CancelTask:                       task,
		dialect.SubscribeToTask:                  &a2a.StreamResponse{Task: task},
		dialect.CreateTaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{ID: "p1", TaskID: "t1", URL: "https://h/hook"},
		dialect.GetTaskPushNotificationConfig:    &a2a.TaskPushNotificationConfig{ID: "p1", TaskID: "t1", URL: "https://h/hook"},
		dialect.ListTaskPushNotificationConfigs:  &a2a.ListTaskPushNotificationConfigsResponse{Configs: []*a2a.TaskPushNotificationConfig{{ID: "p1", TaskID: "t1", URL: "https://h/hook"}}},
		dialect.DeleteTaskPushNotificationConfig: nil,
		dialect.GetExtendedAgentCard:             card,
	}
}

// Every operation arrives as it was meant, with the service parameters, and
// its result comes back.
func TestOperations(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		f := &fake{handle: func(x *exchange) {
			res := results()[x.op]
			if el, ok := res.(*a2a.StreamResponse); ok {
				x.stream(x.event("", el))
				return
			}
			x.json(res)
		}}
		base := dial(t, f, binding, nil)
		for tenant, prefix := range map[string]string{"": "", "team a/b": "/team%20a%2Fb"} {
			card := *base.Card()
			iface := *base.Interface()
			iface.Tenant = tenant
			card.SupportedInterfaces = []*a2a.AgentInterface{&iface}
			c, err := New(&card, &Options{
				Header:     http.Header{"X-Trace": {"7"}, "a2a-extensions": {"urn:c", "urn:d"}},
				Extensions: []string{"urn:a", "urn:b"}, Bearer: "token",
			})
			if err != nil {
				t.Fatal(err)
			}
			for op, perform := range operations(c) {
				before := len(f.seen())
				got, err := perform(t.Context())
				if err != nil {
					t.Errorf("%v: %v", op, err)
					continue
				}
				if want := results()[op]; want != nil {
					if diff := cmp.Diff(mustJSON(t, want), mustJSON(t, got)); diff != "" {
						t.Errorf("%v: %s", op, diff)
					}
				}
				calls := f.seen()[before:]
				if len(calls) != 1 || calls[0].op != op {
					t.Errorf("%v: the server saw %v", op, calls)
					continue
				}
				call := calls[0]
				for name, want := range map[string]string{
					"A2A-Version": "1.0", "A2A-Extensions": "urn:a,urn:b,urn:c,urn:d", "X-Trace": "7",
					"Authorization": "Bearer token", "Idempotency-Key": "", "Last-Event-ID": "",
				} {
					if v := call.header.Get(name); v != want || len(call.header.Values(name)) > 1 {
						t.Errorf("%v: %s: %q, want %q", op, name, v, want)
					}
				}
				if got := tenantOf(call.req); got != tenant {
					t.Errorf("%v: tenant %q, want %q", op, got, tenant)
				}
				if binding == a2a.BindingHTTPJSON && !strings.HasPrefix(call.uri, "/rest"+prefix+"/") {
					t.Errorf("%v: %s, want the tenant in it", op, call.uri)
				}
				if binding == a2a.BindingJSONRPC && call.uri != "/rpc" {
					t.Errorf("%v: %s", op, call.uri)
				}
			}
			if c.Card().Name != "Extended" {
				t.Error("the extended card did not replace the first one")
			}
		}
		for _, call := range f.seen() {
			switch r := call.req.(type) {
			case *a2a.GetTaskRequest:
				if r.ID != "a/b: é" || r.HistoryLength == nil || *r.HistoryLength != 3 {
					t.Errorf("GetTask arrived as %+v", r)
				}
			case *a2a.ListTasksRequest:
				if r.ContextID != "c&1" || r.Status != a2a.TaskStateWorking || *r.PageSize != 3 || r.PageToken != "x=" ||
					!r.StatusTimestampAfter.Equal(time.UnixMilli(1700000000123)) || !r.IncludeArtifacts {
					t.Errorf("ListTasks arrived as %+v", r)
				}
			case *a2a.CancelTaskRequest:
				if string(r.Metadata) != `{"why":1}` {
					t.Errorf("CancelTask arrived as %+v", r)
				}
			}
		}
	})
}

func tenantOf(req any) string {
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		return r.Tenant
	case *a2a.GetTaskRequest:
		return r.Tenant
	case *a2a.ListTasksRequest:
		return r.Tenant
	case *a2a.CancelTaskRequest:
		return r.Tenant
	case *a2a.SubscribeToTaskRequest:
		return r.Tenant
	case *a2a.TaskPushNotificationConfig:
		return r.Tenant
	case *a2a.GetTaskPushNotificationConfigRequest:
		return r.Tenant
	case *a2a.ListTaskPushNotificationConfigsRequest:
		return r.Tenant
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		return r.Tenant
	case *a2a.GetExtendedAgentCardRequest:
		return r.Tenant
	}
	return "?"
}

// A request's own tenant is not the interface's to send, and the request is
// not changed.
func TestRequestsAreNotChanged(t *testing.T) {
	f := &fake{handle: func(x *exchange) { x.json(results()[x.op]) }}
	c := dial(t, f, a2a.BindingJSONRPC, nil)
	req := hello()
	req.Tenant = "mine"
	req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{Tenant: "mine", TaskID: "t9", URL: "https://h"}}
	before := mustJSON(t, req)
	if _, err := c.SendMessage(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if after := mustJSON(t, req); after != before {
		t.Errorf("changed to %s", after)
	}
	sent := f.seen()[0].req.(*a2a.SendMessageRequest)
	if push := sent.Configuration.TaskPushNotificationConfig; sent.Tenant != "" || push.TaskID != "" || push.Tenant != "" {
		t.Errorf("sent %s", mustJSON(t, sent))
	}
}

// what the card does not offer is not asked for.
func TestCapabilities(t *testing.T) {
	f := &fake{handle: func(x *exchange) { x.json(results()[x.op]) }}
	full := dial(t, f, a2a.BindingJSONRPC, nil)
	no := false
	for _, none := range []*bool{nil, &no} {
		card := *full.Card()
		card.Capabilities = a2a.AgentCapabilities{Streaming: none, PushNotifications: none, ExtendedAgentCard: none}
		c, err := New(&card, nil)
		if err != nil {
			t.Fatal(err)
		}
		ops := operations(c)
		for op, want := range map[dialect.Op]error{
			dialect.SubscribeToTask:                  a2a.ErrUnsupportedOperation,
			dialect.CreateTaskPushNotificationConfig: a2a.ErrPushNotificationNotSupported,
			dialect.GetTaskPushNotificationConfig:    a2a.ErrPushNotificationNotSupported,
			dialect.ListTaskPushNotificationConfigs:  a2a.ErrPushNotificationNotSupported,
			dialect.DeleteTaskPushNotificationConfig: a2a.ErrPushNotificationNotSupported,
			dialect.GetExtendedAgentCard:             a2a.ErrUnsupportedOperation,
		} {
			_, err := ops[op](t.Context())
			var e *a2a.Error
			if !errors.Is(err, want) || !errors.As(err, &e) || e.Peer {
				t.Errorf("%v: %v", op, err)
			}
		}
		push := hello()
		push.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "https://h"}}
		if _, err := c.SendMessage(t.Context(), push); !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
			t.Errorf("send with push: %v", err)
		}
		if n := len(f.seen()); n != 0 {
			t.Errorf("%d requests were made", n)
		}
		// Streaming has a substitute.
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if err != nil || brief(els) != "0 task:COMPLETED" || f.seen()[0].op != dialect.SendMessage {
			t.Errorf("%s, %v", brief(els), err)
		}
		f.calls = nil
	}
}

// The specification has two verbs for a subscription; servers may know one.
func TestSubscriptionByGET(t *testing.T) {
	for _, status := range []int{404, 405} {
		f := &fake{handle: func(x *exchange) {
			if x.method == http.MethodPost {
				x.raw(status, "text/plain", "no")
				return
			}
			x.stream(x.event("1", &a2a.StreamResponse{Task: counting(0).at(3)}))
		}}
		c := dial(t, f, a2a.BindingHTTPJSON, nil)
		els, err := collect(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}))
		if err != nil || len(els) != 1 {
			t.Errorf("%d: %s, %v", status, brief(els), err)
		}
	}
}

// A query on the interface's URL stays there.
func TestInterfaceWithAQuery(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		f := &fake{handle: func(x *exchange) { x.json(results()[x.op]) }}
		card := *dial(t, f, binding, nil).Card()
		iface := *card.SupportedInterfaces[0]
		iface.URL += "?k=v"
		if binding == a2a.BindingHTTPJSON {
			iface.URL = strings.Replace(iface.URL, "?", "/?", 1)
		}
		card.SupportedInterfaces = []*a2a.AgentInterface{&iface}
		c, err := New(&card, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		for op, want := range map[dialect.Op]string{dialect.GetTask: "/rest/tasks/a%2Fb%3A%20%C3%A9?k=v&historyLength=3", dialect.CancelTask: "/rest/tasks/t1:cancel?k=v"} {
			f.calls = nil
			if _, err := operations(c)[op](t.Context()); err != nil {
				t.Fatal(err)
			}
			if binding == a2a.BindingJSONRPC {
				want = "/rpc?k=v"
			}
			if got := f.seen()[0].uri; got != want {
				t.Errorf("%v: %s, want %s", op, got, want)
			}
		}
	})
}

func TestUnaryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: func(x *exchange) {
			if x.op == dialect.SendMessage { // the agent may take its time
				time.Sleep(time.Hour)
				x.json(results()[x.op])
				return
			}
			<-x.r.Context().Done()
		}}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		start := time.Now()
		_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
		var lost *TransportError
		if !errors.As(err, &lost) || lost.Unreachable || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: "t1"}); err != context.DeadlineExceeded {
			t.Errorf("the caller's own deadline: %v", err)
		}
		if _, err := c.SendMessage(t.Context(), hello()); err != nil {
			t.Error(err)
		}
	})
}

// Requests that failed before anything was sent say so.
func TestUnreachableAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := inMemory(t, &fake{}, a2a.BindingJSONRPC, nil)
		p.down = true
		for op, perform := range operations(c) {
			_, err := perform(t.Context())
			var lost *TransportError
			if !errors.As(err, &lost) || !lost.Unreachable || lost.Host != "agent.test" {
				t.Errorf("%v: %v", op, err)
			}
		}
		if want := len(operations(c)); p.dials != want {
			t.Errorf("%d attempts for %d operations", p.dials, want)
		}
	})
}
