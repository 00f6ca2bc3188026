package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/metric"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/plain"
)

// factory makes the agents that a file or the command line describes. If an agent's
// description is unchanged, the agent keeps running when others change: its processes
// and sessions are not restarted. A factory is used by one goroutine at a time.
type factory struct {
	log    *slog.Logger
	public string               // the URL that cards advertise; "" if none is set
	own    string               // the URL of the server for clients on this machine
	secret a2a.Secret           // signs the addresses of callbacks
	demo   agent.Agent          // in place of the demo agent; nil leaves it
	meters metric.MeterProvider // nil: no metrics

	current   map[string]*instance            // agents of the revision in force, by name
	callbacks map[string]*httpagent.Callbacks // receivers of callbacks, by the names of agents
}

// instance is an agent made by the factory.
type instance struct {
	from   config.Agent   // its description
	lost   agent.Lost     // what happens to its tasks when the server is lost
	public string         // the URL on the cards at that time
	trust  *keyfile.Trust // of a proxied agent: the keys that must sign its card

	agent     agent.Agent
	callbacks http.Handler // nil: none
	close     func() error // nil: nothing to close

	// card is the one that the agent's kind suggests. If the card comes from another
	// process, fetch requests it, and card is a stand-in until there is an answer.
	// changed may get a value when it is time to fetch again.
	card    a2a.AgentCard
	fetch   func(context.Context) (a2a.AgentCard, error) // nil: card is final
	changed <-chan struct{}
	unknown error                                   // why fetch has no answer yet; nil: it has one, or there is no fetch
	models  func(context.Context) ([]string, error) // the names of its endpoint's models; nil: it has no models
	known   bool                                    // the endpoint has answered models
	model   string                                  // the model for the banner; "" if it has none
	madeUp  bool                                    // the texts of card were generated
	what    string                                  // its name in the banner
}

// lost says what happens to the tasks of an agent when the server is lost.
func (f *flags) lost(c *config.Agent) agent.Lost {
	if cmp.Or(c.OnLost, f.onLost) == lostFail {
		return agent.Lost{Fail: lostReason}
	}
	return agent.Lost{Runs: cmp.Or(c.MaxRuns, f.maxRuns)}
}

// make returns the agent that c describes: the current one if its description is the
// same, or a new one. With again, commands are always made anew.
func (m *factory) make(c *config.Agent, lost agent.Lost, again bool) (_ *instance, isNew bool, err error) {
	var trust *keyfile.Trust
	if c.Proxy != nil {
		if trust, err = trustOf(c.Proxy.Verify); err != nil {
			return nil, false, agentFailure(c.Name, err)
		}
	}
	// Not in the description: the callback address of a proxied agent, and its keys.
	stale := func(old *instance) bool {
		return c.Proxy != nil && (c.Proxy.Push && old.public != m.public || !reflect.DeepEqual(old.trust, trust))
	}
	if old := m.current[c.Name]; old != nil && !(again && isCommand(c)) && !stale(old) && old.lost == lost && reflect.DeepEqual(old.from, *c) {
		return old, false, nil
	}
	n := &instance{from: *c, lost: lost, public: m.public, trust: trust}
	log := m.log
	if c.Name != "" {
		log = log.With("agent", c.Name)
	}
	switch {
	case c.Exec != nil:
		err = m.exec(n, c.Exec, log)
	case c.HTTP != nil:
		err = m.http(n, c.HTTP, log)
	case c.OpenAI != nil:
		err = m.openai(n, c.OpenAI, log)
	case c.Proxy != nil:
		err = m.proxy(n, c.Proxy, log)
	case c.MCP != nil:
		err = m.mcp(n, c.MCP, log)
	case c.Builtin == "conformance":
		n.agent, n.card, n.what = agent.Conformance(), agent.ConformanceCard(), c.Builtin
	case c.Builtin == "demo":
		n.agent, n.card, n.what = cmp.Or(m.demo, agent.Demo()), agent.DemoCard(), c.Builtin
	default:
		err = fmt.Errorf("agent %s: nothing says what it is", plain.Quote(c.Name))
	}
	if err != nil {
		return nil, false, agentFailure(c.Name, err)
	}
	if closer, ok := n.agent.(io.Closer); ok && n.close == nil {
		n.close = closer.Close
	}
	n.agent = agent.OnLost(n.agent, lost)
	return n, true, nil
}

// agentFailure returns the failure of an agent that cannot be made.
func agentFailure(name string, err error) error {
	if _, ok := errors.AsType[*failure.Error](err); ok && name == "" {
		return err
	}
	if name != "" {
		err = fmt.Errorf("agents.%s: %w", name, err)
	}
	return failure.New(failure.CodeServe, err.Error(), err)
}

// isCommand reports whether an agent is a program of this machine.
func isCommand(c *config.Agent) bool { return c.Exec != nil || c.MCP != nil && len(c.MCP.Command) > 0 }

// hasPath reports whether a command finds programs in other directories than the server.
func hasPath(env map[string]string) bool { _, has := env["PATH"]; return has }

func (m *factory) exec(n *instance, c *config.Exec, log *slog.Logger) error {
	if err := commandFailure(c.Command[0], c.Dir, hasPath(c.Env)); err != nil {
		return err
	}
	mode := agent.ExecPlain
	if c.Mode == "lines" {
		mode = agent.ExecLines
	}
	o := &agent.ExecOptions{
		Mode: mode, Processes: c.Processes, Concurrency: c.Concurrency, Dir: c.Dir, Env: environment(c.Env), CleanEnv: c.CleanEnv, Files: c.Files,
		Timeout: c.Timeout, Grace: c.Grace, Memory: c.Memory, MaxOutput: c.MaxOutput, Logger: log,
	}
	n.agent = agent.Exec(c.Command, o)
	n.card, n.madeUp, n.what = o.Card(c.Command), true, QuoteAll(c.Command)
	return nil
}

// label names an agent in a log.
func (n *instance) label() string {
	if n.from.Name == "" {
		return n.what
	}
	return n.from.Name + " (" + n.what + ")"
}

// environment returns variables in the form for processes, sorted.
func environment(vars map[string]string) []string {
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// QuoteAll returns a command as a user would type it.
func QuoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = plain.Quote(w)
	}
	return strings.Join(words, " ")
}
