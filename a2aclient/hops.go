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
// docs/extensions/hops-v1.md.
func (k *call) setHops(ctx context.Context, h http.Header) {
	if _, ok := k.req.(*a2a.SendMessageRequest); ok && a2a.HasCaller(ctx) {
		h.Set(dialect.HopsHeader, dialect.FormatHops(a2a.CallerFrom(ctx).Hops+1))
	}
}
