package mcp

//lint:file-ignore SA1019 log messages are deprecated since 2026-07-28; the servers of before have them, and tell what nothing else does

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/child"
)

// metaLogLevel is the member of a call's _meta that asks for log messages.
const metaLogLevel = mcp.MetaKeyLogLevel

// wantLog asks for log messages, once for a session; from 2026-07-28 on each call does
// so instead.
func (s *session) wantLog() {
	r := s.cs.InitializeResult()
	if r.ProtocolVersion >= "2026-07-28" || r.Capabilities == nil || r.Capabilities.Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.tools.ctx, s.tools.opts.connectTimeout())
	defer cancel()
	if err := s.cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		s.tools.log.Debug("MCP server does not accept a log level", "error", err)
	}
}

func (s *session) takeLog(o *mcp.ClientOptions) {
	o.LoggingMessageHandler = func(_ context.Context, r *mcp.LoggingMessageRequest) { s.logged(r.Params) }
}

func (s *session) logged(p *mcp.LoggingMessageParams) {
	text, ok := p.Data.(string)
	if !ok {
		doc, err := json.Marshal(p.Data)
		if err != nil {
			return
		}
		text = string(doc)
	}
	s.tools.log.Log(context.Background(), logLevel(p.Level), "MCP server: "+cut(text, child.MaxLine), "logger", cut(p.Logger, 200))
}

func logLevel(l mcp.LoggingLevel) slog.Level {
	switch l {
	case "debug":
		return slog.LevelDebug
	case "info", "notice":
		return slog.LevelInfo
	case "warning":
		return slog.LevelWarn
	}
	return slog.LevelError
}
