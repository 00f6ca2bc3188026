package conformance

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

func TestConformanceCapabilities(t *testing.T) {
	t.Run("R-054 no capability", func(t *testing.T) {
		eachDemo(t, func(t *testing.T, w *wire) {
			w.refused(t, "UNSUPPORTED_OPERATION", "GetExtendedAgentCard", obj{})
		})
	})
	t.Run("R-055 declared and not configured", func(t *testing.T) {
		card := agent.DemoCard()
		card.Capabilities.ExtendedAgentCard = new(true)
		each(t, card, agent.Demo, func(t *testing.T, w *wire) {
			w.refused(t, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "GetExtendedAgentCard", obj{})
		})
	})
	t.Run("R-014 R-040 no streaming", func(t *testing.T) {
		card := agent.DemoCard()
		card.Capabilities = a2a.AgentCapabilities{Streaming: new(false)}
		each(t, card, agent.Demo, func(t *testing.T, w *wire) {
			w.refused(t, "UNSUPPORTED_OPERATION", "SendStreamingMessage", obj{"message": say("stream 3 1")})
			asked := w.send(t, say("ask"))
			w.refused(t, "UNSUPPORTED_OPERATION", "SubscribeToTask", obj{"id": text(asked, "id")})
		})
	})
}
