package a2aserver

import (
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/telemetry"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// callSpan is the span of a call, from its arrival to its answer or to the end of its
// stream. It belongs to the goroutine of the call's handler.
type callSpan struct {
	task    string // the id, once the span has it
	context string // the context that the request names
	events  int64  // of a stream, sent
	span    trace.Span
}

// dropped is the span of all calls that a sampler leaves out. It does nothing.
var dropped = &callSpan{span: noop.Span{}}

// tracing is what the spans of an agent's calls have in common.
type tracing struct {
	tracer trace.Tracer // nil: nothing is traced
	agent  []attribute.KeyValue
}

func newTracing(o *Options, card *a2a.AgentCard) tracing {
	if o.TracerProvider == nil {
		return tracing{}
	}
	t := tracing{tracer: telemetry.Tracer(o.TracerProvider)}
	for _, about := range []attribute.KeyValue{
		telemetry.Text(telemetry.GenAIAgentName, card.Name), telemetry.Text(telemetry.GenAIAgentVersion, card.Version),
		telemetry.Text(telemetry.GenAIAgentDescription, card.Description),
	} {
		if about.Value.AsString() != "" {
			t.agent = append(t.agent, about)
		}
	}
	return t
}

// The options and attributes that the span of each call and of each operation begins
// with. A sampler sees only them; the rest is added to spans that are kept.
var (
	ofServer    trace.SpanStartOption = trace.WithSpanKind(trace.SpanKindServer)
	ofOperation                       = func() map[dialect.Op]trace.SpanStartOption {
		all := map[dialect.Op]trace.SpanStartOption{}
		for _, o := range dialect.Operations {
			all[o.Op] = trace.WithAttributes(telemetry.A2AMethodName.String(o.Op.String()))
		}
		return all
	}()
)

// beginSpan begins the span of a call whose operation is known. The service gets the
// span with the context and, as text, with the caller. req is nil if it could not be
// read.
func (x *exchange) beginSpan(caller *a2a.Caller, req any) {
	if x.span != nil || x.op == 0 || x.s.tracing.tracer == nil {
		return
	}
	parent := x.callerSpan(caller.Trace, caller.TraceState)
	ctx, span, is := telemetry.Begin(parent, x.s.tracing.tracer, x.op.String(), func() []trace.SpanStartOption {
		return []trace.SpanStartOption{ofServer, ofOperation[x.op], trace.WithTimestamp(x.audit.Arrived)}
	})
	caller.Trace, caller.TraceState = telemetry.Format(is)
	if span == nil { // what the call causes is dropped, too: the caller's Trace says so
		x.span = dropped
		return
	}
	x.ctx, x.span = ctx, &callSpan{span: span}
	if x.audit.Traced = span.IsRecording(); x.audit.Traced {
		version := x.dialect.Version()
		attrs := append(make([]attribute.KeyValue, 0, 20), x.s.tracing.agent...)
		attrs = append(attrs, telemetry.A2AProtocolVersion.String(version), telemetry.Binding.String(x.binding), telemetry.Dialect.String(version))
		span.SetAttributes(x.span.appendRequest(x.appendAddresses(attrs), req)...)
		came, _ := telemetry.Format(trace.SpanContextFromContext(parent))
		x.ctx = telemetry.WithCall(x.ctx, x.op.String(), came)
	}
}

// callerSpan returns the context for a call's span. Its parent is the span that the
// request names.
func (x *exchange) callerSpan(parent, state string) context.Context {
	if parent == "" || trace.SpanContextFromContext(x.ctx).IsValid() {
		return x.ctx // the request names none, or a handler in front has read the headers
	}
	return telemetry.WithRemote(x.ctx, parent, state)
}

// beginRefused begins the span of a call that is refused before its operation is known.
// Its name is what the conventions for RPC and HTTP prescribe for an unknown method: it
// has nothing that a client chose.
func (x *exchange) beginRefused(e *a2a.Error) {
	var name string
	var about []attribute.KeyValue
	switch {
	case x.binding == a2a.BindingJSONRPC:
		name = telemetry.SpanJSONRPC
	case x.binding == a2a.BindingGRPC:
		name = telemetry.SpanGRPC
	case slices.Contains(httpMethods, x.method): // HTTP+JSON, and paths that lead nowhere
		name, about = x.method, append(about, telemetry.HTTPMethod.String(x.method))
	default:
		name, about = telemetry.SpanOther, append(about, telemetry.HTTPMethod.String(telemetry.Other), telemetry.Text(telemetry.HTTPMethodOriginal, x.method))
	}
	if x.binding != a2a.BindingHTTPJSON {
		about = append(about, telemetry.RPCSystem.String(name))
		if e.Code == a2a.CodeMethodNotFound || e.Code == a2a.CodeMethodNotAllowed {
			about = append(about, telemetry.RPCMethod.String(telemetry.Other))
		}
	}
	caller := a2a.CallerFrom(x.ctx)
	parent, state := caller.Trace, caller.TraceState
	if parent == "" { // the caller is not known
		parent, state = dialect.ReadTrace(x.headers[dialect.TraceHeader]), dialect.ReadTraceState(x.headers[dialect.TraceStateHeader])
	}
	_, span := x.s.tracing.tracer.Start(x.callerSpan(parent, state), name, ofServer, trace.WithAttributes(about...), trace.WithTimestamp(x.audit.Arrived))
	x.span = &callSpan{span: span}
	if span.IsRecording() {
		span.SetAttributes(x.appendAddresses([]attribute.KeyValue{telemetry.Binding.String(x.binding)})...)
	}
}

// httpMethods are those that the convention for HTTP knows (RFC 9110, and PATCH).
var httpMethods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

// appendAddresses appends the addresses of the client and of the server.
func (x *exchange) appendAddresses(attrs []attribute.KeyValue) []attribute.KeyValue {
	if a := x.s.opts.clientAddr(x.remote, x.headers); a.IsValid() {
		attrs = append(attrs, telemetry.ClientAddress.String(a.String()))
		if host, port, err := net.SplitHostPort(x.remote); err == nil && host == a.String() {
			if n, err := strconv.Atoi(port); err == nil {
				attrs = append(attrs, telemetry.ClientPort.Int(n))
			}
		}
	}
	if x.host != "" {
		attrs = append(attrs, telemetry.Text(telemetry.ServerAddress, hostName(x.host)))
		if _, port, err := net.SplitHostPort(x.host); err == nil {
			if n, err := strconv.Atoi(port); err == nil {
				attrs = append(attrs, telemetry.ServerPort.Int(n))
			}
		}
	}
	return attrs
}

// appendRequest appends attributes of a request.
func (c *callSpan) appendRequest(attrs []attribute.KeyValue, req any) []attribute.KeyValue {
	if req == nil {
		return attrs
	}
	about := dialect.SubjectOf(req)
	if about.Tenant != nil && *about.Tenant != "" {
		attrs = append(attrs, telemetry.Text(telemetry.A2ATenant, *about.Tenant))
	}
	if c.task = about.Task; c.task != "" {
		attrs = append(attrs, telemetry.Text(telemetry.A2ATaskID, c.task))
	}
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		if m := r.Message; m != nil {
			attrs = append(attrs, telemetry.Text(telemetry.A2AMessageID, m.MessageID))
			if len(m.ReferenceTaskIDs) > 0 {
				attrs = append(attrs, telemetry.Texts(telemetry.A2AReferenceTaskIDs, m.ReferenceTaskIDs))
			}
			c.context = m.ContextID
		}
	case *a2a.ListTasksRequest:
		c.context = r.ContextID
	}
	if c.context != "" {
		attrs = append(attrs, telemetry.Text(telemetry.GenAIConversationID, c.context))
	}
	return attrs
}

// result records the result of a call, or an event of its stream.
func (x *exchange) result(res any) {
	x.audit.Result(res)
	if c := x.span; c != nil {
		c.result(res)
	}
}

func (c *callSpan) result(res any) {
	if !c.span.IsRecording() {
		return
	}
	if el, ok := res.(*a2a.StreamResponse); ok {
		c.events++
		if el.ArtifactUpdate != nil && c.task != "" {
			return // the usual case, which says nothing new
		}
	}
	task, context, state := about(res)
	if task != "" && c.task == "" {
		c.task = task
		c.span.SetAttributes(telemetry.Text(telemetry.A2ATaskID, task))
	}
	if context != "" && c.context == "" {
		c.context = context
		c.span.SetAttributes(telemetry.Text(telemetry.GenAIConversationID, context))
	}
	if state != 0 {
		c.span.SetAttributes(telemetry.A2ATaskState.String(state.String()))
	}
}

// about returns what a result says of a task; the state is 0 if it says none.
func about(res any) (task, context string, state a2a.TaskState) {
	var el a2a.StreamResponse
	switch r := res.(type) {
	case *a2a.Task:
		el.Task = r
	case *a2a.SendMessageResponse:
		el.Task, el.Message = r.Task, r.Message
	case *a2a.StreamResponse:
		el = *r
	}
	switch {
	case el.Task != nil:
		context = el.Task.ContextID
	case el.StatusUpdate != nil:
		context = el.StatusUpdate.ContextID
	case el.ArtifactUpdate != nil:
		context = el.ArtifactUpdate.ContextID
	case el.Message != nil:
		context = el.Message.ContextID
	}
	return el.TaskID(), context, el.State()
}

// resumes records after which event a stream continues.
func (c *callSpan) resumes(after int64) {
	if c != nil && c.span.IsRecording() {
		c.span.SetAttributes(telemetry.ResumedFrom.Int64(after))
	}
}

// fails records that a call, or a stream that has begun, has failed.
func (x *exchange) fails(e *a2a.Error) {
	x.audit.Fail(x.ctx, e)
	d := x.dialect
	switch { // a call that was refused has no span yet
	case x.span != nil || x.s.tracing.tracer == nil:
	case x.op == 0:
		d = dialect.V10
		x.beginRefused(e)
	default:
		caller := a2a.CallerFrom(x.ctx)
		x.beginSpan(&caller, nil)
	}
	if c := x.span; c != nil && c.span.IsRecording() && !(e.Code == a2a.CodeUnavailable && x.ctx.Err() != nil) { // else the client has left
		c.span.SetAttributes(telemetry.ErrorType.String(dialect.ErrorType(d, x.binding, e.Code)), telemetry.Code.String(e.Code.String()))
		c.span.SetStatus(codes.Error, e.Message)
	}
}

// end records how the call ended, if that is not on record yet, and ends its span.
func (x *exchange) end() {
	x.audit.End(x.ctx)
	c := x.span
	if c == nil {
		return
	}
	if x.op != 0 && c.span.IsRecording() && dialect.Get(x.op).Streams {
		c.span.SetAttributes(telemetry.Events.Int64(c.events))
	}
	c.span.End()
	x.span = nil
}
