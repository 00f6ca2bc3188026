package conformance

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

const (
	required = "https://example.com/ext/required/v1"
	optional = "https://example.com/ext/optional/v1"
)

func TestConformanceExtensions(t *testing.T) {
	card := agent.DemoCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{{URI: optional}}
	t.Run("optional", func(t *testing.T) {
		each(t, card, agent.Demo, func(t *testing.T, w *wire) {
			p := obj{"message": say("echo x")}
			t.Run("R-152 extensions are on the card", func(t *testing.T) {
				declared := in(w.fetch(t, cardPath).result, "capabilities.extensions")
				equal(t, "extensions", in(declared, "0.uri"), optional)
			})
			t.Run("R-155 an unknown one is ignored", func(t *testing.T) {
				a := w.call(t, "SendMessage", p, "A2A-Extensions", "https://example.com/nobody/knows")
				if a.fault != nil || a.header.Get("A2A-Extensions") != "" {
					t.Errorf("A2A-Extensions %q: %s", a.header.Get("A2A-Extensions"), a.body)
				}
			})
			t.Run("R-157 R-158 those in use are named, no other version instead", func(t *testing.T) {
				both := "https://example.com/ext/optional/v2, " + optional
				for _, op := range []string{"SendMessage", "ListTasks"} {
					q := p
					if op == "ListTasks" {
						q = obj{}
					}
					a := w.call(t, op, q, "A2A-Extensions", both)
					equal(t, "A2A-Extensions of "+op, a.header.Get("A2A-Extensions"), optional)
				}
				s := w.open(t, "SendStreamingMessage", p, "A2A-Extensions", both)
				equal(t, "A2A-Extensions of a stream", s.header().Get("A2A-Extensions"), optional)
				a := w.call(t, "SendMessage", p, "A2A-Extensions", "https://example.com/ext/optional/v2")
				equal(t, "A2A-Extensions for v2", a.header.Get("A2A-Extensions"), "")
			})
		})
	})
	card = agent.DemoCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{{URI: required, Required: true}}
	t.Run("required", func(t *testing.T) {
		each(t, card, agent.Demo, func(t *testing.T, w *wire) {
			p := obj{"message": say("echo x")}
			t.Run("R-089 not declared by the client", func(t *testing.T) {
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendMessage", p)
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendStreamingMessage", p)
				equal(t, "tasks", in(w.ok(t, "ListTasks", obj{}), "totalSize"), 0)
			})
			t.Run("R-156 another version declared", func(t *testing.T) {
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendMessage", p, "A2A-Extensions", "https://example.com/ext/required/v2")
			})
			t.Run("R-216 R-236 R-066 declared by header, with others", func(t *testing.T) {
				w.ok(t, "SendMessage", p, "a2a-extensions", "https://example.com/x , "+required)
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendMessage", p, "A2A-Extensions", strings.ToUpper(required))
			})
		})
	})
}
