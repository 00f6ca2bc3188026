package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	skills "github.com/parley-a2a/parley/internal/skill"
)

// Card returns a card made from the server's name, version and instructions, with a
// skill for each tool. The A2A server that runs the agent adds its address. Card asks
// the MCP server for its tools, and fails if that fails.
func (a *Agent) Card(ctx context.Context) (a2a.AgentCard, error) {
	l, err := a.tools.listed(ctx, false)
	if err != nil {
		return a2a.AgentCard{}, a.tools.public(ctx, err)
	}
	card := a2a.AgentCard{
		Name:               a.tools.server.name(),
		Description:        "The tools of an MCP server. A message is a call of one: a part of data {\"tool\": …, \"arguments\": {…}}.",
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes:  []string{"application/json", "text/plain"},
		DefaultOutputModes: []string{"text/plain", "application/json", "image/png", "image/jpeg", "audio/wav", "application/octet-stream"},
	}
	if about := l.about; about != nil {
		if info := about.ServerInfo; info != nil {
			card.Name = cmp.Or(cut(cmp.Or(info.Title, info.Name), 200), card.Name)
			card.Version = cmp.Or(cut(info.Version, 100), card.Version)
			card.Description = cmp.Or(cut(info.Description, maxReason), card.Description)
		}
		card.Description = cmp.Or(cut(about.Instructions, maxReason), card.Description)
	}
	schemas := map[string]a2a.JSON{}
	for _, tool := range l.tools {
		card.Skills = append(card.Skills, skill(tool, len(l.tools) == 1))
		// A tool with an unusual schema checks its arguments itself.
		if schema, err := json.Marshal(tool.InputSchema); err == nil {
			if _, err := skills.Compile(schema); err == nil {
				schemas[tool.Name] = schema
			}
		}
	}
	card.Capabilities.Extensions = append(card.Capabilities.Extensions, a2a.SkillsExtension(schemas))
	return card, nil
}

// name is the server's name before it has been asked. It does not reveal where the
// server is.
func (s *Server) name() string {
	if len(s.Command) > 0 {
		return filepath.Base(s.Command[0])
	}
	return "MCP server"
}

func skill(tool *mcp.Tool, only bool) *a2a.AgentSkill {
	s := &a2a.AgentSkill{
		ID:          tool.Name,
		Name:        cut(title(tool), 200),
		Description: cut(describe(tool), maxReason),
		Tags:        []string{"mcp", "tool"},
		InputModes:  []string{"application/json", "text/plain"},
	}
	if a := tool.Annotations; a != nil && a.ReadOnlyHint {
		s.Tags = append(s.Tags, "read-only")
	}
	in := schemaOf(tool)
	args := map[string]any{}
	for _, name := range in.Required {
		args[name] = example(in.Properties[name])
	}
	call, err := json.Marshal(map[string]any{"tool": tool.Name, "arguments": args})
	if err == nil && len(call) <= maxReason {
		s.Examples = append(s.Examples, string(call))
	}
	if name, ok := textArgument(in); ok && only {
		if text, ok := example(in.Properties[name]).(string); ok && text != "…" {
			s.Examples = append(s.Examples, text)
		}
	}
	return s
}
