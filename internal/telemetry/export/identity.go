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

func (identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if c, ok := telemetry.Identity(ctx); ok && c.IsValid() {
		return c.TraceID(), c.SpanID()
	}
	return newTraceID(), newSpanID()
}

func (identities) NewSpanID(ctx context.Context, in trace.TraceID) trace.SpanID {
	if c, ok := telemetry.Identity(ctx); ok && c.IsValid() && c.TraceID() == in {
		return c.SpanID()
	}
	return newSpanID()
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
