// Package draft finds out what an agent is that somebody names by a script, a URL or a
// card, and describes it as parley.yaml does. URLs are asked with GET requests alone.
package draft

import (
	"context"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// Agent is the agent that a command line describes: args is at most one script, URL or
// file of a card, argv a command, s the options. name and card, a file, replace what is
// found; token is how the file names the credentials of what is behind the agent.
func Agent(ctx context.Context, s *serve.Settings, args, argv []string, name, card string, token a2a.Secret) (config.Agent, error) {
	var agent config.Agent
	form := s.Chosen()
	switch {
	case len(args) > 0 && IsCard(args[0]) && card == "":
		card = args[0]
	case len(args) > 0 && (len(argv) > 0 || form != "" && form != "openai"):
		return agent, failure.Usagef("%s says what the agent is, and so does %s: leave one out", plain.Quote(args[0]), orDash(form))
	case len(args) > 0:
		var err error
		if agent, err = find(ctx, args[0], s, token); err != nil {
			return agent, err
		}
	}
	if len(args) == 0 || IsCard(args[0]) {
		agent = s.Agent(argv, token)
	}
	if card != "" {
		if err := cardOf(card, &agent, len(argv) == 0 && form == ""); err != nil {
			return agent, err
		}
	}
	agent.Default = true // as it is alone: said, it keeps its tasks when others come
	if agent.Name == "" || name != "" {
		agent.Name = name
	}
	if agent.Name == "" {
		agent.Name = nameOf(&agent)
	}
	return agent, nil
}

func orDash(form string) string {
	if form == "" {
		return "the command behind --"
	}
	return "--" + form
}

// nameOf makes a name for an agent of what it is.
func nameOf(c *config.Agent) string {
	name := c.Builtin
	switch {
	case c.Card.Name != "":
		name = c.Card.Name
	case c.Exec != nil:
		name = config.CommandName(c.Exec.Command)
	case c.OpenAI != nil:
		name = c.OpenAI.Model
	case c.HTTP != nil:
		name = hostIn(c.HTTP.URL)
	case c.Proxy != nil:
		name = hostIn(c.Proxy.Agent)
	case c.MCP != nil && c.MCP.URL != "":
		name = hostIn(c.MCP.URL)
	case c.MCP != nil:
		name = config.CommandName(c.MCP.Command)
	}
	return slug(name)
}

// slug is a name as agents have it.
func slug(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String()[:min(b.Len(), 63)], "-")
	if name == "" {
		return "agent"
	}
	return name
}
