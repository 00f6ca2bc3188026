package conformance

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

func TestConformanceTrace(t *testing.T) {
	echo := func() agent.Agent {
		return agent.Func(func(_ context.Context, turn *agent.Turn) error {
			return turn.Reply("trace " + turn.Caller().Trace)
		})
	}
	each(t, agent.DemoCard(), echo, func(t *testing.T, w *wire) {
		t.Run("R-289 the trace context of a call reaches the agent", func(t *testing.T) {
			const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
			a := w.call(t, "SendMessage", obj{"message": say("x")}, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
			if a.fault != nil || !strings.Contains(string(a.body), trace) {
				t.Errorf("the agent was not told of the trace: %s", a.body)
			}
			a = w.call(t, "SendMessage", obj{"message": say("x")}, "traceparent", "00-"+trace+"-none-01")
			if a.fault != nil || strings.Contains(string(a.body), trace) {
				t.Errorf("an invalid traceparent: %s", a.body)
			}
		})
	})
}
