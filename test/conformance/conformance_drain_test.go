package conformance

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// TestConformanceUnavailable stops a server while a call waits.
func TestConformanceUnavailable(t *testing.T) {
	t.Parallel()
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			h := newHeld()
			s, err := parley.New(agent.DemoCard(), h, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, l) }()
			w := dial(t, binding, "http://"+l.Addr().String())

			answered := make(chan answer, 1)
			go func() { answered <- w.call(t, "SendMessage", obj{"message": say("work")}) }()
			receive(t, h.started, "the start of the agent")
			stop()
			t.Run("R-082 a temporary failure says that it is one", func(t *testing.T) {
				a := receive(t, answered, "an answer to the waiting call")
				if a.fault == nil || a.fault.reason() != "UNAVAILABLE" || binding == grpcBinding && a.fault.status != "UNAVAILABLE" || binding == rest && a.status != http.StatusServiceUnavailable {
					t.Errorf("%d %s", a.status, a.body)
				}
			})
			if err := receive(t, ended, "the end of Serve"); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}
