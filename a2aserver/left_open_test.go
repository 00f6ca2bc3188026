package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// Streams that began when no credentials were required end when they are: after a
// reload that protects a server no unknown caller has a stream. Over each binding.
func TestOpenStreamsEndWhenCallersAreAsked(t *testing.T) {
	left := make(chan time.Duration, 1)
	addr, h := hostOnPort(t, []Route{{Name: "a", Default: true, Service: streaming(waiting(left, taskAt(1))), Card: namedCard("a")}}, nil)
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		if err := h.Set([]Route{{Name: "a", Default: true, Service: streaming(waiting(left, taskAt(1))), Card: namedCard("a")}}, nil); err != nil {
			t.Fatal(err)
		}
		c, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Bindings: []string{binding}, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		began, ended := make(chan struct{}, 10), make(chan error, 1)
		go func() {
			for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}) {
				if err != nil {
					ended <- err
					return
				}
				began <- struct{}{}
			}
			ended <- nil
		}()
		<-began
		// A change of agents is no reason to end it.
		if err := h.Set(routes("b"), nil); err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("%s: it ends with its agent", binding)
		}
		if err := h.Set(routes("b"), &Options{Identity: &leased{}}); err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the stream goes on", binding)
		}
		if !errors.Is(err, a2a.ErrUnauthenticated) {
			t.Errorf("%s: it ended with %v", binding, err)
		}
		<-left
	}
}

// A request that arrives slowly cannot be used to call with a key that has been revoked
// meanwhile, or without a key if credentials are required by then.
func TestSlowRequestsAreAskedAgain(t *testing.T) {
	for name, closes := range map[string]func(*Server, *leased){
		"a key that is revoked": func(_ *Server, id *leased) { id.from(revoked) },
		"a server that asks":    func(s *Server, id *leased) { s.newest.Store(&Options{Identity: id}) },
		"":                      func(*Server, *leased) {},
	} {
		t.Run(name, func(t *testing.T) {
			pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
				s, dial := serve(named("a"))
				id := &leased{}
				if name != "a server that asks" {
					lease(s, id, io.Discard)
				}
				const body = `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}`
				c := dial()
				fmt.Fprintf(c, "POST /%s1.0\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", withKey, len(body), body[:20])
				time.Sleep(40 * time.Second)
				closes(s, id)
				io.WriteString(c, body[20:])
				want := http.StatusUnauthorized
				if name == "" {
					want = http.StatusOK
				}
				if res := response(t, c); res.StatusCode != want {
					b, _ := io.ReadAll(res.Body)
					t.Errorf("got %s, want %d: %s", res.Status, want, b)
				}
				c.Close()
			})
		})
	}
}

// Streams that are open count against a limit that a reload has changed.
func TestStreamsCountAfterAReload(t *testing.T) {
	h, err := NewHost(routes("a"), &Options{Limits: Limits{Streams: 3}})
	if err != nil {
		t.Fatal(err)
	}
	who := callerKey{}
	before := &h.front().streams
	for range 2 {
		if err := before.begin(who, 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Set(routes("a"), &Options{Limits: Limits{Streams: 2}}); err != nil {
		t.Fatal(err)
	}
	if err := h.front().streams.begin(who, 2); !errors.Is(err, a2a.ErrRateLimited) {
		t.Errorf("one more than there may be: %v", err)
	}
	before.end(who)
	if err := h.front().streams.begin(who, 2); err != nil {
		t.Error(err)
	}
}

// A limit that a reload sets counts the streams that are open already.
func TestOpenStreamsCountAgainstANewLimit(t *testing.T) {
	left := make(chan time.Duration, 2)
	svc := streaming(waiting(left, taskAt(1)))
	agents := []Route{{Default: true, Service: svc, Card: testCard()}}
	h, err := NewHost(agents, nil)
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(h)
	defer hs.Close()
	subscribe := func() *http.Response {
		res, err := http.Get(hs.URL + "/tasks/t1:subscribe")
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := subscribe()
	defer first.Body.Close()
	if err := h.Set(agents, &Options{Limits: Limits{Streams: 1}}); err != nil {
		t.Fatal(err)
	}
	second := subscribe()
	defer second.Body.Close()
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the first got %s, the second %s", first.Status, second.Status)
	}
}

// An extension that an author's card leaves empty does not keep calls from the agent.
func TestCardWithAnEmptyExtension(t *testing.T) {
	card := testCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{nil, ResumeExtension()}
	h := New(&fake{get: func(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) { return &a2a.Task{ID: req.ID}, nil }}, card, nil)
	r := httptest.NewRequest("GET", "/tasks/t1", nil)
	r.Header.Set("A2A-Extensions", ResumeExtension().URI)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK || w.Header().Get("A2A-Extensions") == "" {
		t.Errorf("HTTP %d, %v", w.Code, w.Header())
	}
}
