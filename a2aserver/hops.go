package a2aserver

import (
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// HopsHeader says how many agents a request came through; none, if it is missing. An
// agent that calls another one sends one more than it received; a2aclient does, if it
// has the context of the agent's run. See docs/extensions/hops-v1.md.
const HopsHeader = dialect.HopsHeader

// HopsExtension returns the entry of a card's Capabilities.Extensions for a server that
// counts hops, as every server with these limits does.
func HopsExtension(l Limits) *a2a.AgentExtension { return dialect.HopsExtension(l.hops()) }

// countHops stores with a caller how many agents its request came through, and refuses
// the request if there are too many: agents that delegate in a circle would never stop.
func (l *Limits) countHops(c *a2a.Caller, h http.Header) error {
	lines := h[HopsHeader]
	if len(lines) == 0 {
		return nil
	}
	n, err := dialect.ReadHops(lines)
	if err != nil {
		return err
	}
	c.Hops = max(c.Hops, n)
	if most := l.hops(); most >= 0 && c.Hops > most {
		return a2a.Errorf(a2a.CodeLoop, "the request came through %d agents, more than the %d allowed: do they call each other in a circle?", c.Hops, most)
	}
	return nil
}
