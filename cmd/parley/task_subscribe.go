package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

func newTaskSubscribe(a *app) *cobra.Command {
	var save saveFlags
	cmd := a.client(&cobra.Command{
		Use:   "subscribe <task-id>",
		Short: "Follow a task's events until it finishes or needs you",
		Long: `Follow a running task until it has finished or needs you: with --stream, print every
event as it arrives, otherwise the task at its end.`,
		Example: `  parley task subscribe <task-id>
  parley task subscribe --stream <task-id>`,
		Args: oneTask,
	}, func(ctx context.Context, args []string) error {
		if err := save.check(); err != nil {
			return err
		}
		return a.withTask(ctx, args[0], func(c *a2aclient.Client, id string) error {
			f := a.follower(c)
			if !f.Streams {
				return a.explain(ctx, a2a.Errorf(a2a.CodeUnsupportedOperation, "the agent's card offers no streams")).
					WithHint("%s", a.commands.Follow(id))
			}
			if a.flags.stream {
				return a.stream(ctx, c, f.Subscribe(ctx, id), &save)
			}
			return a.showEnd(ctx, c, f.Subscribe(ctx, id), &save)
		})
	})
	save.register(cmd.Flags(), "")
	return cmd
}
