// Package draft finds out what kind of agent a script, a URL or a card is, and describes it in
// the form of parley.yaml. It makes only GET requests to URLs.
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

// Agent returns the agent that a command line describes: args is at most one script, URL or
// file of a card, argv a command, s the options. name and card, a file, override what is found;
// token is the file's text for the credentials of the service behind the agent.
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
	agent.Default = true // the only agent: stated, so that it keeps its tasks when others are added
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

// nameOf derives a name for an agent from its description.
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

// slug turns a name into a valid name of an agent.
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
