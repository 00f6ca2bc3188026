package draft

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// find returns the agent for a script, or for the kind of service at a URL.
func find(ctx context.Context, what string, s *serve.Settings, token a2a.Secret) (config.Agent, error) {
	if !strings.Contains(what, "://") {
		st, err := os.Stat(what)
		switch {
		case err == nil && st.Mode().IsRegular():
			return script(what, st, s)
		case err == nil:
			return config.Agent{}, failure.Usagef("%s is not a script or program", plain.Quote(what))
		case !strings.ContainsAny(what, ".:") || strings.ContainsAny(what, "/\\") || config.Interpreter(what) != nil:
			return config.Agent{}, failure.Usagef("there is no file %s", plain.Quote(what)).WithHint("give a script, a card's file or a URL; put a command behind --: parley init -- %s", plain.Quote(what))
		}
	}
	probe := &http.Client{Timeout: 5 * time.Second}
	bearer := map[string]a2a.Secret{}
	if token != "" {
		bearer["Authorization"] = "Bearer " + token
	}
	_, err := a2aclient.Resolve(ctx, what, &a2aclient.Options{HTTPClient: probe, UnaryTimeout: 5 * time.Second})
	if err == nil {
		return config.Agent{Proxy: &config.Proxy{Agent: what, Bearer: token}}, nil
	}
	u := a2a.WebURL(what)
	if u == nil {
		return config.Agent{}, failure.Usagef("%s is neither an existing file nor the address of an agent: %v", plain.Quote(what), err)
	}
	if u.User != nil {
		return config.Agent{}, failure.Usagef("there are credentials in the URL, which do not belong in a file").WithHint("set %s to a token", serve.UpstreamEnv)
	}
	base, model, answered := models(ctx, probe, strings.TrimSuffix(strings.TrimRight(what, "/"), "/chat/completions"))
	if s.Model != "" {
		base, model = cmp.Or(base, what), s.Model
	}
	switch {
	case base != "" && model == "":
		return config.Agent{}, failure.Usagef("%s is the endpoint of models, and does not say which there are", plain.Quote(what)).WithHint("parley init %s --model NAME", plain.Quote(what))
	case base != "":
		if token == "" && u.Scheme == "https" && u.Host == "api.openai.com" {
			token = "${env:OPENAI_API_KEY}"
		}
		return config.Agent{OpenAI: &config.OpenAI{URL: base, Model: model, APIKey: token, SystemFile: s.System}}, nil
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/mcp"):
		return config.Agent{MCP: &config.MCP{URL: what, Headers: bearer}}, nil
	case !answered:
		return config.Agent{}, failure.Usagef("nothing answers at %s, so what it is cannot be seen", plain.Quote(what)).
			WithHint("say it with --http, --openai and --model, --proxy or --mcp")
	}
	return config.Agent{HTTP: &config.HTTP{URL: what, Headers: bearer}}, nil
}

// models requests an endpoint's models, and returns the first; base is "" if it is no such
// endpoint. answered says that something answered at all.
func models(ctx context.Context, c *http.Client, at string) (base, first string, answered bool) {
	for _, base := range []string{at, at + "/v1"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
		if err != nil {
			return "", "", false
		}
		res, err := c.Do(req)
		if err != nil {
			continue
		}
		answered = true
		doc, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20)) // a truncated list is invalid JSON
		_ = res.Body.Close()                                  // only read
		var list struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		switch {
		case res.StatusCode == http.StatusUnauthorized && strings.HasSuffix(base, "/v1"):
			return base, "", true // it requires credentials
		case res.StatusCode == http.StatusOK && json.Unmarshal(doc, &list) == nil && list.Data != nil:
			if len(list.Data) > 0 {
				first = list.Data[0].ID
			}
			return base, first, true
		}
	}
	return "", "", answered
}

// script returns the agent for a file on this machine.
func script(name string, st os.FileInfo, s *serve.Settings) (config.Agent, error) {
	c := &config.Exec{Processes: s.Processes}
	if !filepath.IsAbs(name) && !strings.ContainsAny(name, `/\`) {
		name = "./" + name
	}
	switch run := config.Interpreter(name); {
	case config.PermissionsMatter && st.Mode()&0o111 != 0:
		c.Command = []string{name}
	case run != nil:
		c.Command = append(run, name)
	case config.PermissionsMatter:
		return config.Agent{}, failure.Usagef("%s is not executable", plain.Quote(name)).WithHint("chmod +x %s, or name its interpreter: parley init -- sh %[1]s", plain.Quote(name))
	default:
		c.Command = []string{name}
	}
	agent := config.Agent{Exec: c}
	text := config.Beginning(name)
	agent.Card.Description = plain.Line(config.About(text))
	if s.Lines || strings.Contains(text, "parley serve --lines") {
		c.Mode = "lines"
	}
	return agent, nil
}

// WhatIsHere returns a script in the working directory that is named like an agent's; "" if
// there is none.
func WhatIsHere() (string, error) {
	var found []string
	for _, name := range []string{"agent", "agent.py", "agent.js", "agent.mjs", "agent.sh"} {
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			found = append(found, name)
		}
	}
	if len(found) > 1 {
		return "", failure.Usagef("there are %s: which is the agent?", strings.Join(found, " and ")).WithHint("parley init ./%s", found[0])
	}
	return strings.Join(found, ""), nil
}

// hostIn returns the host of a URL or of an address.
func hostIn(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return u.Hostname()
	}
	host, _, _ := strings.Cut(s, ":")
	return host
}
