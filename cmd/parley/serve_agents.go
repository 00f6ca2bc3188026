package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/internal/config"
)

// maker makes agents of what a file, or the command line, says of them. Those
// that it made stay the same as long as what is said stays the same: their
// processes and sessions are not begun anew because another one has changed. It
// is used by one goroutine at a time.
type maker struct {
	log    *slog.Logger
	public string     // the URL that cards advertise; "" if none is set
	own    string     // the URL by which this machine reaches it
	secret a2a.Secret // what addresses of callbacks are made of

	made      map[string]*made                // what runs, by name
	callbacks map[string]*httpagent.Callbacks // where services call back, by URL
}

// made is an agent as it was made.
type made struct {
	from   config.Agent // of what
	onLost string       // and what the server says of lost processes
	runs   int

	agent     agent.Agent
	callbacks http.Handler // nil: none
	close     func() error // nil: nothing is held

	// card is the one its kind suggests. Where that is for others to say, fetch
	// asks them, and card is what stands for it until they have answered. changed
	// may have a value when it is time to ask again.
	card    a2a.AgentCard
	fetch   func(context.Context) (a2a.AgentCard, error) // nil: card is all there is
	changed <-chan struct{}
	unknown error  // why they have not answered yet; nil: they have
	madeUp  bool   // nobody wrote the words of card
	what    string // how the banner calls it
}

// lost is what the server says of processes that are lost, where an agent says
// nothing of its own.
type lost struct {
	onLost string
	runs   int
}

// make returns the agent that c describes: the one that runs, if it is the same,
// or a new one. again makes a new one of a command in any case.
func (m *maker) make(ctx context.Context, c *config.Agent, l lost, again bool) (_ *made, isNew bool, err error) {
	if c.OnLost != "" {
		l.onLost = c.OnLost
	}
	if c.MaxRuns > 0 {
		l.runs = c.MaxRuns
	}
	if old := m.made[c.Name]; old != nil && !(again && isCommand(c)) && old.onLost == l.onLost && old.runs == l.runs && reflect.DeepEqual(old.from, *c) {
		return old, false, nil
	}
	n := &made{from: *c, onLost: l.onLost, runs: l.runs}
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
		n.agent, n.card, n.what = agent.Demo(), agent.DemoCard(), c.Builtin
	default:
		err = fmt.Errorf("agent %s: nothing says what it is", quote(c.Name))
	}
	if err != nil {
		return nil, false, agentFailure(c.Name, err)
	}
	if closer, ok := n.agent.(io.Closer); ok && n.close == nil {
		n.close = closer.Close
	}
	if l.onLost == lostFail {
		n.agent = agent.OnLost(n.agent, agent.Lost{Fail: lostReason})
	} else {
		n.agent = agent.OnLost(n.agent, agent.Lost{Runs: l.runs})
	}
	return n, true, nil
}

// agentFailure says which agent cannot be made.
func agentFailure(name string, err error) error {
	var f *failure
	if errors.As(err, &f) && name == "" {
		return err
	}
	if name != "" {
		err = fmt.Errorf("agents.%s: %w", name, err)
	}
	return newFailure(codeServe, err.Error(), err)
}

// isCommand reports whether an agent is a program of this machine.
func isCommand(c *config.Agent) bool { return c.Exec != nil || c.MCP != nil && len(c.MCP.Command) > 0 }

func (m *maker) exec(n *made, c *config.Exec, log *slog.Logger) error {
	if err := commandFailure(c.Command[0], c.Dir); err != nil {
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
	n.card, n.madeUp, n.what = o.Card(c.Command), true, quoteAll(c.Command)
	return nil
}

// words is what is to be said of an agent in a log or in the banner.
func (n *made) words() string {
	if n.from.Name == "" {
		return n.what
	}
	return n.from.Name + " (" + n.what + ")"
}

// environment is a map of variables as processes get it.
func environment(vars map[string]string) []string {
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// quoteAll is a command as one types it.
func quoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}
