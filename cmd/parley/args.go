package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// orUsage makes wrong usage of what a check says.
func orUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageOf(cmd, err)
		}
		return nil
	}
}

// oneTask wants the id of a task as the only argument.
func oneTask(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return failure.Usagef("which task? its id is missing").WithHint("%s <task-id>; parley task list shows your tasks", cmd.CommandPath())
	case len(args) > 1:
		return failure.Usagef("one task at a time: unexpected argument %q", args[1])
	}
	return nil
}

// oneMessage wants at most one argument. More are a message that lacks its
// quotes: joining the words would send something else than was typed.
func oneMessage(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	return failure.Usagef("the message is one argument, and these are %d", len(args)).
		WithHint("put it in quotes: %s %s", cmd.CommandPath(), plain.Quote(strings.Join(args, " ")))
}
