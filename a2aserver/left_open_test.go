package a2aserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// Streams that began when nobody was asked for credentials end when callers are: a
// reload that closes a server leaves nobody in it. Over each binding.
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
		// That agents change is no reason to end it.
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

// A request that takes its time to arrive is no way to call with a key that is
// revoked meanwhile, or with none where callers are asked by then.
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
	before := h.front().streams
	for range 2 {
		if err := before.begin(who); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Set(routes("a"), &Options{Limits: Limits{Streams: 2}}); err != nil {
		t.Fatal(err)
	}
	if err := h.front().streams.begin(who); !errors.Is(err, a2a.ErrRateLimited) {
		t.Errorf("one more than there may be: %v", err)
	}
	before.end(who)
	if err := h.front().streams.begin(who); err != nil {
		t.Error(err)
	}
}
