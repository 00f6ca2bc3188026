package serve

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

// Form is the flags that describe the agent, as far as that fits on a command line. A
// file describes any number of agents, with every setting.
type Form struct {
	Builtin                  string
	Lines                    bool
	Processes                int
	HTTP, OpenAI, Proxy, MCP string // addresses
	Body, Answer             string // of HTTP
	Model, System            string // of OpenAI
	Reload                   bool
}

// upstreamToken returns the value of UpstreamEnv and hides it.
func (e *Env) upstreamToken() a2a.Secret {
	token, _ := e.Lookup(UpstreamEnv)
	e.Stderr.Hide(token)
	return a2a.Secret(token)
}

// mcpStdio is the value of --mcp for a server that is the command after --.
const mcpStdio = "stdio"

func (f *Form) register(fs *pflag.FlagSet) {
	f.Builtin = "demo"
	fs.Var(flagvalue.Choice(&f.Builtin, "demo", "conformance"), "agent", "built-in `agent` to run: demo or conformance")
	fs.BoolVar(&f.Lines, "lines", false, "exchange lines of JSON with the command, so that it can ask questions, write several artifacts and more (docs/exec.md)")
	fs.IntVar(&f.Processes, "processes", 0, "with --lines: keep this many `processes`, each for one message after another (default: a process for each message)")
	fs.StringVar(&f.HTTP, "http", "", "post each message to the service at this `URL` and return its response (docs/http.md)")
	checked := func(to *string, check func(string) error) *flagvalue.Value {
		return flagvalue.Of("text", to, func(s string) (string, error) { return s, check(s) }, func(s string) string { return s })
	}
	fs.Var(checked(&f.Body, httpagent.CheckBody), "body", "with --http, for a service with its own format: the request's `template`, such as '{\"prompt\": \"${text}\"}', or the form 'prompt=${text}' (docs/http.md)")
	fs.Var(checked(&f.Answer, httpagent.CheckAnswer), "answer", "with --http, for such a service: the `path` of the answer in its response, such as .reply; text for the whole response")
	fs.StringVar(&f.OpenAI, "openai", "", "let a model answer: the `URL` of an endpoint compatible with OpenAI's chat completions, up to /v1 (docs/openai.md)")
	fs.StringVar(&f.Model, "model", "", "with --openai: the model's `name`")
	fs.StringVar(&f.System, "system", "", "with --openai: a `file` with the system prompt, read for each message")
	fs.StringVar(&f.Proxy, "proxy", "", "forward to another A2A `agent` of any version: its address, or its card's (docs/proxy.md)")
	fs.StringVar(&f.MCP, "mcp", "", "offer the tools of an MCP server: the `URL` of one, or "+mcpStdio+" for the command behind -- (docs/mcp.md)")
	fs.BoolVar(&f.Reload, "reload", false, "pick up changes to the agent's files and parley.yaml without a restart; tasks at work finish with the old ones")
}

// Forms are the flags that choose the agent. Only one of them can be given.
var Forms = []string{"agent", "http", "openai", "proxy", "mcp"}

// Chosen returns the flag that chooses the agent; "" if there is none.
func (s *Settings) Chosen() string {
	for _, name := range Forms {
		if s.set.Changed(name) {
			return name
		}
	}
	return ""
}

func (f *Form) check(fs *pflag.FlagSet, command bool) error {
	var given []string
	for _, name := range Forms {
		if fs.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	stdio := fs.Changed("mcp") && f.MCP == mcpStdio
	switch {
	case len(given) > 1:
		return failure.Usagef("%s exclude each other: each says what the agent is", strings.Join(given, " and ")).
			WithHint("a file can have several agents: parley init writes one")
	case command && len(given) > 0 && !stdio:
		return failure.Usagef("%s and a command exclude each other", given[0])
	case stdio && !command:
		return failure.Usagef("--mcp %s is an MCP server that is a command", mcpStdio).WithHint("parley serve --mcp stdio -- npx -y @modelcontextprotocol/server-everything")
	case fs.Changed("openai") != (f.Model != ""):
		return failure.Usagef("--openai and --model go together: the endpoint, and which of its models").
			WithHint("parley serve --openai http://127.0.0.1:11434/v1 --model llama3.2")
	case f.Body != "" && !fs.Changed("http"):
		return failure.Usagef("--body %s is the request to an HTTP service: give --http", plain.Quote(f.Body)).WithHint("in a file it is agents.NAME.http.body")
	case f.Answer != "" && !fs.Changed("http"):
		return failure.Usagef("--answer %s is where an HTTP service has its answer: give --http", plain.Quote(f.Answer)).WithHint("in a file it is agents.NAME.http.answer")
	case f.System != "" && !fs.Changed("openai"):
		return failure.Usagef("--system is the prompt of a model: give --openai")
	case f.Lines && (!command || stdio):
		return failure.Usagef("--lines says how to speak with the agent's command, and there is none").WithHint("parley serve --lines -- ./agent.py")
	case f.Processes != 0 && !f.Lines:
		return failure.Usagef("--processes needs --lines")
	case f.Processes < 0 || f.Processes > 1024:
		return failure.Usagef("--processes must be from 0 to 1024")
	}
	for _, link := range []struct{ flag, value string }{{"http", f.HTTP}, {"openai", f.OpenAI}, {"mcp", f.MCP}} {
		if !fs.Changed(link.flag) || link.flag == "mcp" && stdio {
			continue
		}
		u := a2a.WebURL(link.value)
		switch {
		case u == nil:
			return failure.Usagef("--%s must be an http or https URL", link.flag)
		case u.User != nil:
			return failure.Usagef("--%s has credentials in it, which every user of this machine can read", link.flag).WithHint("%s is the variable for a token", UpstreamEnv)
		}
	}
	if fs.Changed("proxy") && strings.TrimSpace(f.Proxy) == "" {
		return failure.Usagef("--proxy needs the address of an agent")
	}
	if scheme, _, ok := strings.Cut(f.Proxy, "://"); ok && !slices.Contains([]string{"http", "https", "file"}, strings.ToLower(scheme)) {
		return failure.Usagef("--proxy must be a host, an http or https URL, or a card's file")
	}
	return nil
}

// agents returns the agents of the file, or the one described by the flags and the
// command after them.
func (s *Settings) agents(e *Env, argv []string) []config.Agent {
	if s.File == nil {
		c := s.Agent(argv, e.upstreamToken())
		if c.OpenAI != nil {
			e.Stderr.Hide(c.OpenAI.APIKey.Reveal()) // it may come from another variable
		}
		return []config.Agent{c}
	}
	return s.File.Agents
}

// Agent returns the agent described by the flags and the command after them, in the
// form of a file.
func (s *Settings) Agent(argv []string, token a2a.Secret) config.Agent {
	f := &s.Form
	c := config.Agent{Default: true}
	bearer := map[string]a2a.Secret{}
	if token != "" {
		bearer["Authorization"] = "Bearer " + token
	}
	switch s.Chosen() {
	case "http":
		c.HTTP = &config.HTTP{URL: f.HTTP, Headers: bearer, Callbacks: f.Body == "", Body: f.Body, Answer: f.Answer}
	case "openai":
		if u, err := url.Parse(f.OpenAI); token == "" && err == nil && u.Scheme == "https" && u.Host == "api.openai.com" {
			token = a2a.Secret(os.Getenv("OPENAI_API_KEY")) // this key is for their address only
		}
		c.OpenAI = &config.OpenAI{URL: f.OpenAI, Model: f.Model, APIKey: token, SystemFile: f.System}
	case "proxy":
		c.Proxy = &config.Proxy{Agent: f.Proxy, Bearer: token}
	case "mcp":
		c.MCP = &config.MCP{Headers: bearer}
		if f.MCP == mcpStdio {
			c.MCP.Command = argv
		} else {
			c.MCP.URL = f.MCP
		}
	default:
		if len(argv) == 0 {
			c.Builtin = f.Builtin
			break
		}
		c.Exec = &config.Exec{Command: argv, Processes: f.Processes}
		if f.Lines {
			c.Exec.Mode = "lines"
		}
	}
	return c
}
