package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// oneTask wants the id of a task as the only argument.
func oneTask(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return usagef("which task? its id is missing").withHint("%s <task-id>; parley task list shows the tasks there are", cmd.CommandPath())
	case len(args) > 1:
		return usagef("one task at a time: unexpected argument %q", args[1])
	}
	return nil
}

// oneMessage wants at most one argument. More are a message that lacks its
// quotes: joining the words would send something else than was typed.
func oneMessage(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	return usagef("the message is one argument, and these are %d", len(args)).
		withHint("put it in quotes: %s %s", cmd.CommandPath(), quote(strings.Join(args, " ")))
}
