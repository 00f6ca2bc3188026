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
	"github.com/parley-a2a/parley/internal/help"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

// completeWithin bounds the call of an agent during completion.
const completeWithin = 3 * time.Second

// complete adds completion of flag values and task ids.
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
			panic(err) // there is no such flag
		}
	}
	a.completeBelow(root)
}

// completeBelow adds completion of ids to all commands that take one, and of words to all flags
// that have a fixed set.
func (a *app) completeBelow(of *cobra.Command) {
	for _, cmd := range of.Commands() {
		if strings.Contains(cmd.Use, " <task-id>") {
			cmd.ValidArgsFunction = a.completeTask
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if words := flagvalue.Words(f.Value); words != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
			}
		})
		a.completeBelow(cmd)
	}
}

// tab prepares the flags of the command that Tab is pressed in: those that it refuses are
// not offered, and descriptions have no marks for help.
func tab(root *cobra.Command, args []string) {
	if cmd, _, err := root.Find(args); err == nil {
		hideUnread(cmd)
		help.Unmark(cmd)
	}
}

// completeContext offers the names of contexts, with their agents. On an error it offers none.
func (a *app) completeContext(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	if known, err := a.listContexts(); err == nil && len(args) == 0 {
		for _, c := range known {
			list = append(list, cobra.CompletionWithDesc(c.Name, plain.Line(c.Agent)))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeAgent offers the agents that the configuration names; the shell completes card files.
func (a *app) completeAgent(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	list := []string{"http://127.0.0.1:7275"}
	if s, _, err := loadSettings(a.around, a.flags.config, a.flags.context); err == nil {
		if named, _ := s.find("agent-card"); named != "" {
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

// completeTask offers the ids of the agent's latest tasks, with their state, age and first
// words. On an error it offers none.
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
