package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

// completeWithin bounds the call of an agent that Tab waits for.
const completeWithin = 3 * time.Second

// complete lets Tab know the values of flags, and the ids of tasks.
func (a *app) complete(root *cobra.Command) {
	words := func(list ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	for name, fn := range map[string]cobra.CompletionFunc{
		"output":      words("text", "json", "yaml", "table", "template="),
		"transport":   words("jsonrpc", "rest", "grpc"),
		"a2a-version": words(dialect.Versions...),
		"agent-card":  a.completeAgent,
		"context":     a.completeContext,
		"task-id":     a.completeTask,
		"context-id":  words(), "bearer": words(), "api-key": words(), "basic": words(), "timeout": words(), "poll-interval": words(), "jq": words(),
	} {
		if err := root.RegisterFlagCompletionFunc(name, fn); err != nil {
			panic(err) // the flag is not there
		}
	}
	a.completeBelow(root)
}

// completeBelow lets Tab know ids in all commands that want one, and words in all flags
// that have some.
func (a *app) completeBelow(of *cobra.Command) {
	for _, cmd := range of.Commands() {
		if strings.Contains(cmd.Use, " <task-id>") {
			cmd.ValidArgsFunction = a.completeTask
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if v, ok := f.Value.(*flagvalue.Value); ok && v.Words != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.Words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
			}
		})
		a.completeBelow(cmd)
	}
}

// completeContext offers the names of contexts, with their agents. It says nothing if
// it cannot.
func (a *app) completeContext(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	if known, err := a.listContexts(); err == nil && len(args) == 0 {
		for _, c := range known {
			list = append(list, cobra.CompletionWithDesc(c.Name, plain.Line(c.Agent)))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeAgent offers the agents that the configuration names; a card's file is
// found by the shell.
func (a *app) completeAgent(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	list := []string{"http://127.0.0.1:7275"}
	if s, _, err := loadSettings(a.around, a.flags.config, a.flags.context); err == nil {
		if named, _ := s.find(envName("agent-card")); named != "" {
			list = append(list, named)
		}
	}
	if catalogs, err := a.catalogs(); err == nil {
		for _, c := range catalogs {
			for _, agent := range c.Agents {
				list = append(list, agent.Name())
			}
		}
	}
	return list, cobra.ShellCompDirectiveDefault
}

// completeTask offers the ids of the agent's latest tasks, with their state, age and
// words. It says nothing if it cannot.
func (a *app) completeTask(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.configure(cmd.Context(), cmd.Flags()) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.dial(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	page, err := c.ListTasks(ctx, &a2a.ListTasksRequest{HistoryLength: new(int32(10))})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, t := range page.Tasks {
		if id := plain.Line(t.ID); id == t.ID && strings.HasPrefix(id, begun) {
			list = append(list, cobra.CompletionWithDesc(id, terminal.About(t, time.Now())))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
