package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// sayArgs makes the commands of a tree say which argument is missing or unexpected. cobra only
// counts arguments, and takes an unexpected one for a command.
func sayArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, ours := errors.AsType[*failure.Error](err); err == nil || ours {
				return err
			}
			for n := len(args) - 1; n >= 0; n-- {
				if check(cmd, args[:n]) != nil {
					continue
				}
				wrong := fmt.Errorf("unexpected argument %q", args[n])
				if cmd.Annotations[readsSettings] == "all" && a2a.WebURL(args[n]) != nil {
					return failure.Usagef("%v", wrong).WithHint("the agent goes behind -a: %s -a %s", cmd.CommandPath(), plain.Quote(args[n]))
				}
				return usageOf(cmd, wrong)
			}
			missing := "an argument"
			if words := strings.Fields(cmd.Use)[1:]; len(args) < len(words) {
				missing = strings.TrimSuffix(words[len(args)], "...")
			}
			return failure.Usagef("%s is missing", missing).
				WithHint("%s %s; %s --help shows how it is used", cmd.Parent().CommandPath(), cmd.Use, cmd.CommandPath())
		}
	}
	for _, c := range cmd.Commands() {
		sayArgs(c)
	}
}

// oneTask requires the id of a task as the only argument.
func oneTask(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return failure.Usagef("which task? its id is missing").WithHint("%s <task-id>; parley task list shows your tasks", cmd.CommandPath())
	case len(args) > 1:
		return failure.Usagef("one task at a time: unexpected argument %q", args[1])
	}
	return nil
}

// oneMessage accepts at most one argument. More are a message without quotes: joined, the words
// would be another message than was typed.
func oneMessage(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	hint := "put it in quotes: " + cmd.CommandPath() + " " + plain.Quote(strings.Join(args, " "))
	if a2a.WebURL(args[0]) != nil {
		hint += "; if it begins with the agent's address, put that behind -a"
	}
	return failure.Usagef("the message must be one argument, and there are %d", len(args)).WithHint("%s", hint)
}
