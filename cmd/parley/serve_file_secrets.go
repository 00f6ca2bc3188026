package main

import (
	"maps"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/config"
)

// secretsOf are the credentials that a file's agents have, for diagnostics to
// hide. What is shorter than 4 bytes is none, and hiding it would garble everything.
func secretsOf(agents []config.Agent) (list []string) {
	add := func(secrets ...a2a.Secret) {
		for _, s := range secrets {
			if len(s) >= 4 {
				list = append(list, s.Reveal())
			}
		}
	}
	headers := func(h map[string]a2a.Secret) { add(slices.Collect(maps.Values(h))...) }
	mcp := func(m *config.MCP) { headers(m.Headers) }
	for i := range agents {
		switch a := &agents[i]; {
		case a.HTTP != nil:
			headers(a.HTTP.Headers)
		case a.OpenAI != nil:
			add(a.OpenAI.APIKey)
			headers(a.OpenAI.Headers)
			for j := range a.OpenAI.Tools {
				mcp(&a.OpenAI.Tools[j])
			}
		case a.Proxy != nil:
			add(a.Proxy.Bearer, a.Proxy.APIKey, a.Proxy.Basic)
			headers(a.Proxy.Headers)
		case a.MCP != nil:
			mcp(a.MCP)
		}
	}
	return list
}
