package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/config"
)

// formFlags say what the agent is, where that fits on a command line. A file says
// the same of any number of agents, with everything that can be set.
type formFlags struct {
	builtin                  string
	lines                    bool
	processes                int
	http, openai, proxy, mcp string
	model, system            string
	reload                   bool
}

// upstreamEnv is the variable with the token for what --http, --openai, --proxy
// and --mcp lead to: every user of the machine can read command lines.
const upstreamEnv = "PARLEY_UPSTREAM_TOKEN"

// upstreamToken is what it says, which nobody prints.
func upstreamToken(a *app) a2a.Secret {
	token, _ := a.around.lookup(upstreamEnv)
	a.stderr.hide(token)
	return a2a.Secret(token)
}

// mcpStdio is the value of --mcp for a server that is a command.
const mcpStdio = "stdio"

func (f *formFlags) register(fs *pflag.FlagSet) {
	f.builtin = "demo"
	fs.Var(&choice{&f.builtin, []string{"demo", "conformance"}}, "agent", "built-in `agent` to run: demo or conformance")
	fs.BoolVar(&f.lines, "lines", false, "speak with the command in lines of JSON, so that it can ask back, write several artifacts and more (docs/exec.md)")
	fs.IntVar(&f.processes, "processes", 0, "with --lines: `processes` that stay and take one message after another (default: one process for each message)")
	fs.StringVar(&f.http, "http", "", "post each message to this `URL`, whose answer is the agent's (docs/http.md)")
	fs.StringVar(&f.openai, "openai", "", "have a model answer: the `URL` of an endpoint that speaks as OpenAI's chat completions do, up to /v1 (docs/openai.md)")
	fs.StringVar(&f.model, "model", "", "with --openai: the model's `name`")
	fs.StringVar(&f.system, "system", "", "with --openai: a `file` with the system prompt, read for each message")
	fs.StringVar(&f.proxy, "proxy", "", "stand in front of another A2A `agent` of any version, by its address or its card's (docs/proxy.md)")
	fs.StringVar(&f.mcp, "mcp", "", "offer the tools of an MCP server: the `URL` of one, or "+mcpStdio+" for the command behind -- (docs/mcp.md)")
	fs.BoolVar(&f.reload, "reload", false, "take up changes of the agent's files, and of parley.yaml, while it runs: tasks that are under way finish as they began")
}

// forms are the flags that say what the agent is, of which there can be one.
var forms = []string{"agent", "http", "openai", "proxy", "mcp"}

// chosen returns the flag that says what the agent is; "" if none does.
func (f *formFlags) chosen(fs *pflag.FlagSet) string {
	for _, name := range forms {
		if fs.Changed(name) {
			return name
		}
	}
	return ""
}

func (f *formFlags) check(fs *pflag.FlagSet, command bool) error {
	var given []string
	for _, name := range forms {
		if fs.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	stdio := fs.Changed("mcp") && f.mcp == mcpStdio
	switch {
	case len(given) > 1:
		return usagef("%s exclude each other: each says what the agent is", strings.Join(given, " and ")).
			withHint("a file can have several agents: parley init writes one")
	case command && len(given) > 0 && !stdio:
		return usagef("%s and a command exclude each other", given[0])
	case stdio && !command:
		return usagef("--mcp %s is an MCP server that is a command", mcpStdio).withHint("parley serve --mcp stdio -- npx -y @modelcontextprotocol/server-everything")
	case fs.Changed("openai") != (f.model != ""):
		return usagef("--openai and --model go together: the endpoint, and which of its models").
			withHint("parley serve --openai http://127.0.0.1:11434/v1 --model llama3.2")
	case f.system != "" && !fs.Changed("openai"):
		return usagef("--system is the prompt of a model: give --openai")
	case f.lines && (!command || stdio):
		return usagef("--lines says how to speak with the agent's command, and there is none").withHint("parley serve --lines -- ./agent.py")
	case f.processes != 0 && !f.lines:
		return usagef("--processes stay between messages, which takes --lines")
	case f.processes < 0 || f.processes > 1024:
		return usagef("--processes must be from 0 to 1024")
	}
	for _, link := range []struct{ flag, value string }{{"http", f.http}, {"openai", f.openai}, {"mcp", f.mcp}} {
		if !fs.Changed(link.flag) || link.flag == "mcp" && stdio {
			continue
		}
		u, err := url.Parse(link.value)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return usagef("--%s must be an http or https URL", link.flag)
		case u.User != nil:
			return usagef("--%s has credentials in it, which every user of this machine can read", link.flag).withHint("%s is the variable for a token", upstreamEnv)
		}
	}
	if fs.Changed("proxy") && strings.TrimSpace(f.proxy) == "" {
		return usagef("--proxy needs the address of an agent")
	}
	return nil
}

// agents are the file's, or the one that the flags and argv behind them come to, as
// a file would say it.
func (s *serveSetup) agents(a *app, argv []string) []config.Agent {
	if s.file == nil {
		return []config.Agent{s.formFlags.agent(s.set, argv, upstreamToken(a))}
	}
	list := slices.Clone(s.file.Agents)
	dir := filepath.Dir(s.path)
	for i := range list {
		if c := list[i].Exec; c != nil && c.Dir == "" {
			own := *c
			own.Dir = dir
			list[i].Exec = &own
		}
		if c := list[i].MCP; c != nil && c.Dir == "" && len(c.Command) > 0 {
			own := *c
			own.Dir = dir
			list[i].MCP = &own
		}
	}
	return list
}

func (f *formFlags) agent(fs *pflag.FlagSet, argv []string, token a2a.Secret) config.Agent {
	c := config.Agent{Default: true}
	bearer := map[string]a2a.Secret{}
	if token != "" {
		bearer["Authorization"] = "Bearer " + token
	}
	switch f.chosen(fs) {
	case "http":
		c.HTTP = &config.HTTP{URL: f.http, Headers: bearer, Callbacks: true}
	case "openai":
		if u, err := url.Parse(f.openai); token == "" && err == nil && u.Scheme == "https" && u.Host == "api.openai.com" {
			token = a2a.Secret(os.Getenv("OPENAI_API_KEY")) // it is theirs, and nobody else's
		}
		c.OpenAI = &config.OpenAI{URL: f.openai, Model: f.model, APIKey: token, SystemFile: f.system}
	case "proxy":
		c.Proxy = &config.Proxy{Agent: f.proxy, Bearer: token}
	case "mcp":
		c.MCP = &config.MCP{Headers: bearer}
		if f.mcp == mcpStdio {
			c.MCP.Command = argv
		} else {
			c.MCP.URL = f.mcp
		}
	default:
		if len(argv) == 0 {
			c.Builtin = f.builtin
			break
		}
		c.Exec = &config.Exec{Command: argv, Processes: f.processes}
		if f.lines {
			c.Exec.Mode = "lines"
		}
	}
	return c
}
