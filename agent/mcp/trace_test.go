package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// Each call has a client's span, which the server gets as its parent, and no content
// unless the operator wants it.
func TestCallsHaveSpans(t *testing.T) {
	s, server := overHTTP(t, "new")
	var meta mcp.Meta
	server.srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if p, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok {
				meta = p.Meta
			}
			return next(ctx, method, r)
		}
	})
	tools := newTools(t, s, nil)
	for _, c := range []struct {
		tool, args string
		content    bool
		want       string
	}{
		{"greet", `{"name":"Ann"}`, false, "Unset"},
		{"greet", `{"name":"Ann"}`, true, `Unset gen_ai.tool.call.arguments={"name":"Ann"} gen_ai.tool.call.result=hello Ann`},
		{"fail", `{}`, false, "Error error.type=tool_error"},
	} {
		spans := tracetest.NewInMemoryExporter()
		ctx, root := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test").Start(t.Context(), "run")
		if c.content {
			ctx = telemetry.WithContent(ctx)
		}
		_, _ = tools.Call(ctx, c.tool, a2a.JSON(c.args))
		list := spans.GetSpans().Snapshots()
		if len(list) != 1 || list[0].Name() != "tools/call "+c.tool || list[0].SpanKind() != trace.SpanKindClient ||
			list[0].Parent().SpanID() != root.SpanContext().SpanID() {
			t.Fatalf("%s: %d spans: %v", c.tool, len(list), list)
		}
		span := list[0]
		if parent, _ := telemetry.Format(span.SpanContext()); meta["traceparent"] != parent {
			t.Errorf("%s: the server got %v, want %s", c.tool, meta["traceparent"], parent)
		}
		set := attribute.NewSet(span.Attributes()...)
		got := fmt.Sprint(span.Status().Code)
		for _, key := range []attribute.Key{telemetry.ErrorType, telemetry.GenAIToolArguments, telemetry.GenAIToolResult} {
			if v, ok := set.Value(key); ok {
				got += fmt.Sprintf(" %s=%s", key, v.AsString())
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.tool, got, c.want)
		}
		for key, want := range map[attribute.Key]string{
			telemetry.MCPMethodName: "tools/call", telemetry.GenAIToolName: c.tool, telemetry.GenAIOperationName: "execute_tool",
			telemetry.Transport: "tcp", telemetry.ServerAddress: "127.0.0.1", telemetry.MCPProtocolVersion: "",
		} {
			if v, ok := set.Value(key); !ok || !strings.Contains(v.String(), want) {
				t.Errorf("%s: %s is %q", c.tool, key, v.String())
			}
		}
	}
}
