package a2aclient

import (
	"context"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// setHops says with a message how many agents it came through: with the context
// of an agent's run, those of the message that the agent works on, and this one.
// Agents that call each other in a circle are found out by it; see
// docs/extensions/hops-v1.md. The trace that the run belongs to goes along.
func (k *call) setHops(ctx context.Context, h http.Header) {
	if _, ok := k.req.(*a2a.SendMessageRequest); ok && a2a.HasCaller(ctx) {
		c := a2a.CallerFrom(ctx)
		h.Set(dialect.HopsHeader, dialect.FormatHops(c.Hops+1))
		if c.Trace != "" && len(h[dialect.TraceHeader]) == 0 { // a header of one's own comes from who traces more closely
			h[dialect.TraceHeader] = []string{c.Trace}
		}
	}
}
