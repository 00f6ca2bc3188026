package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

func newContext(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "context", Short: "Name agents, with their address, credentials and options"},
		newContextAdd(a), newContextUse(a), newContextList(a), newContextRemove(a))
}

// inContexts are the settings that a context may have.
var inContexts = []string{"agent-card", "bearer", "api-key", "basic", "client-cert", "client-key", "ca-file", "svc-param", "transport", "a2a-version", "card-trust", "timeout", "poll-interval", "insecure"}

// pathSettings are the settings whose value is the name of a file.
var pathSettings = []string{"client-cert", "client-key", "ca-file", "card-trust"}

func newContextAdd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME AGENT",
		Short: "Name an agent, with its address, credentials and options",
		Long: `Name an agent. The options on this command line are kept with the name, credentials
included, in a file of mode 0600; parley refuses the file if others can read it. Give
- as the value of --bearer, --api-key or --basic to be asked for it, since other users
can see options. Credentials are never shown and go to this agent only, not to one
that -a or A2ACLI_AGENT_CARD names.

A2ACLI_* variables and .env files override a context, unless --context names it.`,
		Example: `  parley context add prod https://agents.example.org
  parley context add prod https://agents.example.org --api-key - < key.txt
  parley context use prod
  parley send --context prod "hello"`,
		Args:        cobra.ExactArgs(2),
		Annotations: map[string]string{readsSettings: "context"},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.contextOf(cmd, args[1])
			if err != nil {
				return err
			}
			if err := a.around.contexts.Save(args[0], c); err != nil {
				return err
			}
			now, err := a.around.contexts.Current()
			if err == nil && now == "" {
				err, now = a.around.contexts.Use(args[0]), args[0]
			}
			if err != nil {
				return err
			}
			a.stderr.Note("In use", "%s", now)
			return nil
		},
	}
}

// contextOf returns the command line's settings for an agent.
func (a *app) contextOf(cmd *cobra.Command, agent string) (contexts.Context, error) {
	f := &a.flags
	if agent == "" || strings.HasPrefix(agent, "-") {
		return nil, failure.Usagef("which agent? %q is not an address", agent).WithHint("parley context add NAME https://agents.example.org")
	}
	if f.agentCard != "" {
		return nil, failure.Usagef("the agent is the second argument, %s: leave -a %s out", plain.Quote(agent), plain.Quote(f.agentCard))
	}
	if _, err := os.Stat(agent); err == nil && !strings.Contains(agent, "://") {
		if agent, err = filepath.Abs(agent); err != nil {
			return nil, failure.Usagef("%v", err)
		}
	}
	c := contexts.Context{"agent-card": agent}
	in := terminal.NewSecrets(a.stdin, a.stderr)
	for _, name := range inContexts[1:] {
		flag := cmd.Flags().Lookup(name)
		if !flag.Changed {
			continue
		}
		value := flag.Value.String()
		switch name {
		case "basic":
			value = f.basic.user + ":" + f.basic.password
		case "svc-param":
			var list []string
			for key, values := range f.svcParams {
				for _, v := range values {
					if strings.Contains(v, ",") {
						return nil, failure.Usagef("--svc-param %s: a context cannot keep a value with a comma", key)
					}
					list = append(list, key+":"+v)
				}
			}
			slices.Sort(list)
			value = strings.Join(list, ",")
		}
		if value == "-" && secrets[name] {
			line, err := in.Line(cmd.Context(), "Value of --"+name)
			if cmd.Context().Err() != nil {
				return nil, failure.New(failure.CodeInterrupted, "interrupted; nothing was added", err)
			}
			if line = strings.TrimSpace(line); line == "" || err != nil {
				return nil, failure.Usagef("--%s -: standard input has no line", name).WithHint("parley context add NAME AGENT --%s - < file", name)
			}
			value = line
		}
		if slices.Contains(pathSettings, name) {
			var list []string
			for path := range strings.SplitSeq(value, ",") {
				abs, err := filepath.Abs(path)
				if err != nil {
					return nil, failure.Usagef("--%s %s: %v", name, plain.Quote(path), err)
				}
				list = append(list, abs)
			}
			value = strings.Join(list, ",")
		}
		c[name] = value
	}
	for _, name := range []string{"async", "wait", "task-id", "context-id", "metadata", "history", "config", "context"} {
		if cmd.Flags().Changed(name) {
			return nil, failure.Usagef("--%s is about one command, and no context keeps it: leave it out", name).
				WithHint("a context may have --%s", strings.Join(inContexts[1:], ", --"))
		}
	}
	return c, nil
}

func newContextUse(a *app) *cobra.Command {
	none := false
	cmd := &cobra.Command{
		Use:   "use NAME",
		Short: "Make a named agent the default",
		Example: `  parley context use prod
  parley context use --none`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && !none || len(args) > 0 && none {
				return failure.Usagef("which context? name one, or give --none").WithHint("parley context list shows those there are")
			}
			return nil
		},
		RunE:              func(_ *cobra.Command, args []string) error { return a.around.contexts.Use(strings.Join(args, "")) },
		ValidArgsFunction: a.completeContext,
	}
	cmd.Flags().BoolVar(&none, "none", false, "clear the default")
	return cmd
}

func newContextRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME",
		Short:             "Remove a named agent and its credentials",
		Example:           `  parley context remove prod`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(_ *cobra.Command, args []string) error { return a.around.contexts.Remove(args[0]) },
		ValidArgsFunction: a.completeContext,
	}
}

// contextDoc is a context without its secrets.
type contextDoc struct {
	Name        string   `json:"name"`
	Agent       string   `json:"agent"`
	InUse       bool     `json:"inUse"`
	Credentials []string `json:"credentials"`     // their kinds
	Error       string   `json:"error,omitempty"` // why it cannot be used
}

func newContextList(a *app) *cobra.Command {
	var form *string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the named agents",
		Example: `  parley context list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := a.listContexts()
			if err != nil {
				return err
			}
			if *form == "json" {
				return a.sayJSON(map[string]any{"contexts": list})
			}
			out := output.NewWriter(a.stdout)
			for _, c := range list {
				line := c.Agent
				if c.InUse {
					line += " (in use)"
				}
				if len(c.Credentials) > 0 {
					line += " with " + strings.Join(c.Credentials, ", ")
				}
				if c.Error != "" {
					line = c.Error
				}
				out.Field(c.Name, line)
			}
			if len(list) == 0 {
				a.stderr.Note("Hint", "there are no contexts yet: parley context add prod https://agents.example.org")
			}
			return out.Flush()
		},
	}
	form = outputFlag(cmd.Flags())
	return cmd
}

func (a *app) listContexts() ([]contextDoc, error) {
	names, err := a.around.contexts.Names()
	if err != nil {
		return nil, err
	}
	now, err := a.around.contexts.Current()
	if err != nil {
		return nil, err
	}
	list := []contextDoc{}
	for _, name := range names {
		doc := contextDoc{Name: name, InUse: name == now, Credentials: []string{}}
		if c, err := a.around.contexts.Load(name); err != nil {
			doc.Error = strings.TrimPrefix(err.Error(), failure.CodeUsage+": ")
		} else {
			doc.Agent = hidePassword(c["agent-card"])
			for _, kind := range inContexts {
				if (secrets[kind] || kind == "client-cert") && c[kind] != "" {
					doc.Credentials = append(doc.Credentials, kind)
				}
			}
		}
		list = append(list, doc)
	}
	return list, nil
}
