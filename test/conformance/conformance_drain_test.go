package conformance

import (
	"net/http"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/test/fixtures"
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
			addr, stop := fixtures.Serve(t, "", s.Serve)
			w := dial(t, binding, "http://"+addr)

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
		})
	}
}
