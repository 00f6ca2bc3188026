package export

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// identities makes the ids of spans: at random, but for those that the context names.
type identities struct{}

func (identities) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if c, ok := telemetry.Identity(ctx); ok && c.IsValid() {
		return c.TraceID(), c.SpanID()
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, identities{}.NewSpanID(ctx, id)
}

func (identities) NewSpanID(ctx context.Context, in trace.TraceID) (span trace.SpanID) {
	if c, ok := telemetry.Identity(ctx); ok && c.IsValid() && c.TraceID() == in {
		return c.SpanID()
	}
	for !span.IsValid() {
		binary.NativeEndian.PutUint64(span[:], rand.Uint64())
	}
	return span
}
