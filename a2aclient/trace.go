package a2aclient

import (
	"context"
	"errors"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// operation is the span of an operation, from the call to its answer or to the end of
// its stream, across all attempts and connections. A nil *operation records nothing. It
// belongs to the goroutine of the call.
type operation struct {
	client *Client
	span   trace.Span

	// seen of the task so far
	task, conversation string
	state              a2a.TaskState
}

// trace begins the span of an operation. The context that it returns is for the
// operation's requests.
func (c *Client) trace(ctx context.Context, op dialect.Op, req any) (context.Context, *operation) {
	var span trace.Span
	if p := c.opts.TracerProvider; p != nil {
		ctx, span = telemetry.Tracer(p).Start(ctx, op.String(), trace.WithSpanKind(trace.SpanKindClient))
	} else if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, nil
	} else {
		ctx, span = telemetry.Start(ctx, op.String(), trace.SpanKindClient)
	}
	if !span.IsRecording() {
		return ctx, nil // the sampler dropped it; its context is still passed on
	}
	o := &operation{client: c, span: span}
	span.SetAttributes(telemetry.A2AMethodName.String(op.String()))
	o.request(req)
	return ctx, o
}

// request records the attributes of a request.
func (o *operation) request(req any) {
	if m, ok := req.(*a2a.SendMessageRequest); ok && m.Message != nil {
		o.span.SetAttributes(telemetry.Text(telemetry.A2AMessageID, m.Message.MessageID))
		if refs := m.Message.ReferenceTaskIDs; len(refs) > 0 {
			o.span.SetAttributes(telemetry.Texts(telemetry.A2AReferenceTaskIDs, refs))
		}
		o.conversation = m.Message.ContextID
	}
	about := dialect.SubjectOf(req)
	o.task = about.Task
	if about.Tenant != nil && *about.Tenant != "" {
		o.span.SetAttributes(telemetry.Text(telemetry.A2ATenant, *about.Tenant))
	}
}

// answered records what an answer, or an element of a stream, says of its task.
func (o *operation) answered(res any) {
	if o == nil {
		return
	}
	switch r := res.(type) {
	case *a2a.Task:
		o.about(r.ID, r.ContextID, r.Status.State)
	case *a2a.SendMessageResponse:
		o.answered(&a2a.StreamResponse{Task: r.Task, Message: r.Message})
	case *a2a.StreamResponse:
		switch {
		case r.Task != nil:
			o.answered(r.Task)
		case r.Message != nil:
			o.about(r.Message.TaskID, r.Message.ContextID, a2a.TaskStateUnspecified)
		case r.StatusUpdate != nil:
			o.about(r.StatusUpdate.TaskID, r.StatusUpdate.ContextID, r.StatusUpdate.Status.State)
		}
	}
}

func (o *operation) about(task, conversation string, state a2a.TaskState) {
	if task != "" {
		o.task = task
	}
	if conversation != "" {
		o.conversation = conversation
	}
	if state.Valid() {
		o.state = state
	}
}

// event records an event of a stream's connection, or of an attempt.
func (o *operation) event(name string, why error, attrs ...attribute.KeyValue) {
	if o != nil {
		attrs = append(attrs, telemetry.ErrorType.String(o.errorType(why)))
		o.span.AddEvent(name, trace.WithAttributes(attrs...))
	}
}

// over returns a yield that remembers the stream's error, and done, which ends the span
// with it.
func (o *operation) over(yield func(*a2a.StreamResponse, error) bool) (_ func(*a2a.StreamResponse, error) bool, done func()) {
	if o == nil {
		return yield, func() {}
	}
	var last error
	return func(el *a2a.StreamResponse, err error) bool {
		if last = err; err == nil {
			o.answered(el)
		}
		return yield(el, err)
	}, func() { o.end(last) }
}

// end ends the span; record nothing after it.
func (o *operation) end(err error) {
	if o == nil {
		return
	}
	set := o.span.SetAttributes
	if o.task != "" {
		set(telemetry.Text(telemetry.A2ATaskID, o.task))
	}
	if o.conversation != "" {
		set(telemetry.Text(telemetry.GenAIConversationID, o.conversation))
	}
	if o.state.Valid() {
		set(telemetry.A2ATaskState.String(o.state.String()))
	}
	f := o.client.face.Load() // it may have changed since the start: see Client
	set(telemetry.A2AProtocolVersion.String(f.version), telemetry.Binding.String(f.iface.ProtocolBinding))
	if u, err := url.Parse(baseOf(o.client.named, f.iface)); err == nil {
		set(telemetry.Server(u)...)
	}
	if !o.client.guessed {
		card := o.client.Card()
		for key, value := range map[attribute.Key]string{
			telemetry.GenAIAgentName: card.Name, telemetry.GenAIAgentDescription: card.Description, telemetry.GenAIAgentVersion: card.Version,
		} {
			if value != "" {
				set(telemetry.Text(key, value))
			}
		}
	}
	if err != nil {
		telemetry.Fail(o.span, err)
		set(telemetry.ErrorType.String(o.errorType(err)))
	}
	o.span.End()
}

// errorType returns the error.type attribute for an error: the agent's by its code on
// the binding, the network's by what broke.
func (o *operation) errorType(err error) string {
	network, broken := errors.AsType[*TransportError](err)
	var late interface{ Timeout() bool }
	switch e := said(err); {
	case e != nil && e.Peer:
		f := o.client.face.Load()
		return dialect.ErrorType(f.dialect, f.iface.ProtocolBinding, e.Code)
	case e != nil:
		return e.Code.String()
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case broken && network.Unreachable:
		return "unreachable"
	case broken:
		return "connection_broken"
	}
	return "_OTHER"
}
