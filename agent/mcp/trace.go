package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// describe sets the attributes of a call's span, by the convention for MCP clients.
func (t *Tools) describe(ctx context.Context, span trace.Span, s *session, p *mcp.CallToolParams, res *mcp.CallToolResult, err error) {
	set := span.SetAttributes
	set(
		telemetry.MCPMethodName.String("tools/call"), telemetry.GenAIOperationName.String("execute_tool"), telemetry.GenAIToolName.String(p.Name),
	)
	if about := s.cs.InitializeResult(); about != nil {
		set(telemetry.MCPProtocolVersion.String(about.ProtocolVersion))
	}
	if id := s.cs.ID(); id != "" {
		set(telemetry.MCPSessionID.String(id))
	}
	if at, urlErr := url.Parse(t.server.URL); t.server.URL == "" || urlErr != nil {
		set(telemetry.Transport.String("pipe"))
	} else {
		set(append(telemetry.Server(at), telemetry.Transport.String("tcp"))...)
	}
	content := telemetry.Content(ctx)
	if content {
		if args, err := json.Marshal(p.Arguments); err == nil {
			set(telemetry.GenAIToolArguments.String(string(args)))
		}
	}
	switch {
	case err != nil:
		telemetry.Fail(span, err)
		var rpc *jsonrpc.Error
		switch {
		case errors.Is(err, errSilent):
			set(telemetry.ErrorType.String("timeout"))
		case errors.As(err, &rpc):
			code := strconv.FormatInt(rpc.Code, 10)
			set(telemetry.ErrorType.String(code), telemetry.RPCStatus.String(code))
		}
	case res.IsError:
		set(telemetry.ErrorType.String("tool_error"))
		span.SetStatus(codes.Error, "")
	}
	if content && err == nil {
		set(telemetry.GenAIToolResult.String(textOf(res)))
	}
}
