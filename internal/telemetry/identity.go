package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// A process that is killed takes its open spans with it, while others, which were sent
// or are still to come, name them as parents. So that the process that takes over can
// write them, a run's span has an id that follows from the task, and the log keeps the
// span of a call. A provider of export's takes the ids that it is told.

type identityKey struct{}

// WithIdentity returns a context whose next span is to have c's ids. It is for Start
// only: what the span's children are made in must not come from it.
func WithIdentity(ctx context.Context, c trace.SpanContext) context.Context {
	return context.WithValue(ctx, identityKey{}, c)
}

// Identity returns the ids that the next span of the context is to have.
func Identity(ctx context.Context) (c trace.SpanContext, ok bool) {
	c, ok = ctx.Value(identityKey{}).(trace.SpanContext)
	return c, ok
}

// RunID is the id of the span of a run: the same for every process.
func RunID(in trace.TraceID, tenant, owner, task, message string, attempt int32) (id trace.SpanID) {
	h := sha256.New()
	h.Write(in[:])
	for _, s := range []string{"parley run", tenant, owner, task, message} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(attempt)))
	copy(id[:], h.Sum(nil))
	return id
}

type callKey struct{}

// WithCall notes what a call's span is that the context carries: the operation, and the
// traceparent that came with the call.
func WithCall(ctx context.Context, operation, parent string) context.Context {
	return context.WithValue(ctx, callKey{}, strings.TrimSpace(operation+" "+parent))
}

// Call is what WithCall noted, as one text; "" if nothing was.
func Call(ctx context.Context) string {
	s, _ := ctx.Value(callKey{}).(string)
	return s
}

// ReadCall reads what Call returned.
func ReadCall(s string) (operation, parent string) {
	operation, parent, _ = strings.Cut(s, " ")
	return operation, parent
}
