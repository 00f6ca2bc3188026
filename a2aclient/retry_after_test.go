package a2aclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Any answer that says when to try again becomes an error that says so, too.
func TestRetryAfterOfAnAnswer(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}))
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			c, err := New(&a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}, SupportedInterfaces: []*a2a.AgentInterface{{URL: srv.URL, ProtocolBinding: binding, ProtocolVersion: "1.0"}}}, &Options{Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
			var e *a2a.Error
			if !errors.As(err, &e) || e.Code != a2a.CodeRateLimited || e.RetryAfter != want {
				t.Errorf("Retry-After %q over %s: %v, %v", header, binding, err, e)
			}
			for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}) {
				if !errors.As(err, &e) || e.RetryAfter != want {
					t.Errorf("Retry-After %q over %s: %v, %v", header, binding, err, e)
				}
			}
		}
		srv.Close()
	}
}

// The error itself may have it, where there is no header: in a stream, and over
// gRPC.
func TestRetryAfterOfAnErrorIsHeeded(t *testing.T) {
	busy := &a2a.Error{Code: a2a.CodeRateLimited, Peer: true, RetryAfter: 20 * time.Second}
	r := &sending{window: time.Hour}
	if !r.unanswered(busy) || r.wait(busy) != 20*time.Second {
		t.Errorf("%v, %v", r.unanswered(busy), r.wait(busy))
	}
	busy.RetryAfter = longestWait + time.Second
	if r.unanswered(busy) {
		t.Error("it is waited for too long")
	}
	busy.RetryAfter = 0
	if r.unanswered(busy) {
		t.Error("a limit without a time is an answer")
	}
	synctest.Test(t, func(t *testing.T) {
		r.since = time.Now()
		c := &Client{opts: &Options{}, log: new(Options).logger()}
		began := time.Now()
		if err := c.again(t.Context(), r, 0, 0, &a2a.Error{Code: a2a.CodeUnavailable, RetryAfter: 20 * time.Second}); err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
