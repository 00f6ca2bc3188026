// Package config reads parley.yaml: the settings of a server, and its agents.
//
// It knows the file's format: names, types, limits of values, and the position of each. It does
// not know what is made from the values; cmd/parley joins the parts.
//
//	f, err := config.Load("parley.yaml", &config.Options{Lookup: os.LookupEnv})
//	for _, a := range f.Agents {
//		fmt.Println(a.Name, a.Default)
//	}
//
// The error of a file with mistakes is an *Error that lists all of them, each with its line and
// column. Everything follows one table (table_server.go, table_agents.go): the reader, the
// messages about mistakes, the JSON Schema, and the reference in docs/config.md. Functions may
// be called concurrently; a File is not changed.
package config

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Agent is one entry of agents. Exactly one of Exec, HTTP, OpenAI, Proxy, MCP and Builtin is
// set, and says what kind of agent it is.
type Agent struct {
	Name    string // its key in the file; a word of a-z, 0-9 and -, as in /agents/{name}
	Default bool   // it is at / as well; an only agent is, unless it says false

	Exec    *Exec
	HTTP    *HTTP
	OpenAI  *OpenAI
	Proxy   *Proxy
	MCP     *MCP
	Builtin string // "demo" or "conformance"

	Card    Card
	OnLost  string // "rerun" or "fail"; empty: as the server's flags say
	MaxRuns int    // 0: as the server's flags say
}

// Card has the fields of an agent's card that replace those of its kind.
type Card struct {
	Name, Description, Version    string
	DocumentationURL, IconURL     string
	Organization, OrganizationURL string // its provider
	InputModes, OutputModes       []string
	Skills                        []Skill
	Streaming, PushNotifications  *bool
	Extended                      string // a file with the extended card
}

// Skill is one skill of a Card.
type Skill struct {
	ID, Name, Description   string
	Tags, Examples          []string
	InputModes, OutputModes []string
	Scopes                  []string // scopes that a caller needs to see and use it, on the extended card
	InputSchema             any      // of arguments, for callers that name the skill by its id: JSON Schema
}

// Exec is an agent that is a command.
type Exec struct {
	Command     []string
	Dir         string            // directory to run it in; by default the file's; empty if that is the process's
	Env         map[string]string // in addition to the server's; values may be secrets
	CleanEnv    bool              // nothing of the server's environment but PATH, HOME, LANG, TZ
	Mode        string            // "plain" (the default) or "lines": the protocol of JSON lines
	Processes   int               // with lines: how many are kept to serve one message after another; 0: one for each message
	Concurrency int               // runs at a time, more wait; 0: four times the number of processors
	Files       bool              // files are passed in folders
	Timeout     time.Duration     // of a run; 0: none
	Grace       time.Duration     // between TERM and KILL; 0: 5 s
	Memory      int64             // bytes of a process's address space; 0: no limit
	MaxOutput   int64             // bytes printed in a run; 0: 64 MiB
}

// HTTP is an agent that is an HTTP service.
type HTTP struct {
	URL         string
	Headers     map[string]a2a.Secret
	Body        string        // template of the request; empty: docs/http.md's
	Answer      string        // path of the answer; empty: docs/http.md's
	Timeout     time.Duration // until the answer has arrived in full, except for streams and callbacks; 0: 5 m
	Retries     *int          // after answers that say so; nil: 5
	Callbacks   bool          // the service may answer 202 and call back
	CallbackURL string        // at which it reaches this process; empty: public_url
	Concurrency int           // requests at a time, more wait; 0: 256
	Egress      *Egress       // nil: any address but link-local and cloud metadata
}

// OpenAI is an agent that is a model.
type OpenAI struct {
	URL          string // without /chat/completions
	Model        string
	APIKey       a2a.Secret
	Headers      map[string]a2a.Secret
	System       string // the system prompt
	SystemFile   string // or a file with it, read for each message
	Temperature  *float64
	MaxTokens    int
	Extra        map[string]any // more members of the request
	History      int            // messages of the context that are sent along at most; 0: 20; negative: none
	Images       bool           // the model takes images
	Files        bool           // the model takes files
	FlushEvery   time.Duration  // the tokens of this time make a chunk; 0: 100 ms
	Timeout      time.Duration  // of the model's silence; 0: 2 m
	Retries      *int           // before the first token; nil: 5
	Concurrency  int
	Tools        []MCP // servers whose tools the model may call
	MaxToolCalls int   // in one turn; 0: 20
	Egress       *Egress
}

// Proxy is an agent that is another A2A agent.
type Proxy struct {
	Agent    string   // its card's URL, or a host, as parley send -a takes it
	Version  string   // forces a version: "0.1" to "1.1"
	Bindings []string // "jsonrpc", "rest", "grpc", in order of preference
	Bearer   a2a.Secret
	APIKey   a2a.Secret
	Basic    a2a.Secret // user:password
	Headers  map[string]a2a.Secret
	Metadata []string      // members of a request's metadata that are passed on; nil: all
	Verify   []string      // files of keys, one of which must have signed its card
	Push     bool          // ask the agent to call back, for tasks that take long
	PushURL  string        // at which it reaches this process; empty: public_url
	Poll     time.Duration // how often to poll if it cannot stream; 0: 2 s
	Egress   *Egress
}

// MCP is a server of the Model Context Protocol, as an agent or as the source of a model's
// tools.
type MCP struct {
	Name    string
	Command []string // over standard input and output
	Env     map[string]string
	Dir     string // to run Command in, as Exec.Dir
	URL     string // or over streamable HTTP
	Headers map[string]a2a.Secret
	Tools   []string // only these of its tools; empty: all
	Timeout time.Duration
	Egress  *Egress
}

// Egress says which addresses an agent's requests may use.
type Egress struct {
	Allow, Deny []string
	Proxy       string
}
