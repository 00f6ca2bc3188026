// Package telemetry has the common parts for writing spans with OpenTelemetry: names of
// spans and attributes, and the W3C trace context in headers, messages and logs. It
// uses OpenTelemetry's API only. The exporters are in internal/telemetry/export, so
// that a program that imports a2aclient or an agent's package does not link exporters.
//
//	ctx, span := telemetry.Start(ctx, telemetry.SpanStep+" "+name, trace.SpanKindInternal)
//	defer func() { telemetry.End(span, err) }()
//
// Nothing is global. Options of a server and of an engine take a trace.TracerProvider;
// below them the provider comes with the context, in its span: [Start] writes a child
// of the context's span with the provider of that span. If the context has none,
// tracing is off and Start costs nothing. So agents, adapters and clients need no
// option, and a program that uses them and traces by itself sees their spans in its own
// traces.
//
// Traces come in and go out as text: a2a.Caller has Trace and TraceState, the
// traceparent and tracestate of the W3C. A server whose calls are traced sets them to
// its own span, and an engine to the span of the run, before an agent sees them. Code
// that calls other servers uses [Outgoing].
package telemetry
