package proxy_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent/proxy"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// outage is a way to an agent that does not stream, without a network: it is out of
// reach while down is true.
type outage struct {
	http.Handler
	down atomic.Bool
}

func (o *outage) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.Host, in.RequestURI = req.URL.Host, req.URL.RequestURI()
	w := httptest.NewRecorder()
	o.ServeHTTP(w, in)
	return w.Result(), nil
}

// beyond is an engine whose agent is a proxy of a puppet, for tests with fake time.
func beyond(t *testing.T, up *puppet) (*engine.Engine, *outage) {
	t.Helper()
	up.card = a2a.AgentCard{Name: "puppet", Version: "1"}
	link := &outage{Handler: a2aserver.New(up, &up.card, nil)}
	p, err := proxy.New("http://agent.test", &proxy.Options{Client: &http.Client{Transport: link}})
	if err != nil {
		t.Fatal(err)
	}
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	e := engine.New(st, p, &a2a.AgentCard{Name: "front"}, nil)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	return e, link
}

// A task that needs an authorization goes on to say so while the agent that asked for it
// is out of reach, and each outage has the whole of the patience.
func TestOutagesWhileAnAuthorizationIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		needs := task("up", a2a.TaskStateAuthRequired)
		needs.Task.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("log in")}}
		var given atomic.Bool
		up := &puppet{stream: says(needs), get: func(string) (*a2a.Task, error) {
			if given.Load() {
				return task("up", a2a.TaskStateCompleted).Task, nil
			}
			return needs.Task, nil
		}}
		e, link := beyond(t, up)
		res, err := e.SendMessage(t.Context(), say("x"))
		if err != nil {
			t.Fatal(err)
		}
		state := func() a2a.TaskStatus {
			got, err := e.GetTask(t.Context(), &a2a.GetTaskRequest{ID: res.Task.ID})
			if err != nil {
				t.Fatal(err)
			}
			return got.Status
		}
		for range 2 {
			link.down.Store(true)
			time.Sleep(time.Minute)
			link.down.Store(false)
			time.Sleep(10 * time.Minute)
			if s := state(); s.State != a2a.TaskStateAuthRequired {
				t.Fatalf("the task is %v, %q", s.State, s.Message.Text())
			}
		}
		given.Store(true)
		time.Sleep(time.Minute)
		if s := state(); s.State != a2a.TaskStateCompleted {
			t.Errorf("the task is %v, %q", s.State, s.Message.Text())
		}
	})
}

// An outage before a question does not count for the one that its answer meets.
func TestOutageBeforeAQuestionIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := task("up", a2a.TaskStateInputRequired)
		asks.Task.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("who?")}}
		up := &puppet{get: func(string) (*a2a.Task, error) { return asks.Task, nil }}
		up.stream = func(_ context.Context, _ *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
			if len(up.messages()) == 1 {
				yield(asks, nil)
				return
			}
			yield(task("up", a2a.TaskStateCompleted), nil)
		}
		e, link := beyond(t, up)
		away := func(send func() (*a2a.SendMessageResponse, error)) *a2a.Task {
			link.down.Store(true)
			time.AfterFunc(time.Second, func() { link.down.Store(false) })
			res, err := send()
			if err != nil {
				t.Fatal(err)
			}
			return res.Task
		}
		got := away(func() (*a2a.SendMessageResponse, error) { return e.SendMessage(t.Context(), say("x")) })
		want(t, got, a2a.TaskStateInputRequired, "who?")
		time.Sleep(time.Hour)
		got = away(func() (*a2a.SendMessageResponse, error) { return e.SendMessage(t.Context(), to(got, "me")) })
		want(t, got, a2a.TaskStateCompleted, "")
	})
}
