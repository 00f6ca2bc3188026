package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
)

func newTaskSubscribe(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "subscribe <task-id>",
		Short: "Follow a running task by its stream",
		Long: `Follow a running task by its stream until it is finished or needs you: with
--stream every event as it arrives, else the task as it ends.`,
		Args: oneTask,
	}, func(ctx context.Context, args []string) error {
		a.subject = args[0]
		c, err := a.dial(ctx)
		if err != nil {
			return err
		}
		f := a.follower(c)
		if !f.Streams {
			return a.explain(ctx, a2a.Errorf(a2a.CodeUnsupportedOperation, "the agent's card offers no streams")).
				WithHint("%s", a.commands.follow(args[0]))
		}
		seq := f.Subscribe(ctx, args[0])
		if a.flags.stream {
			return a.stream(seq)
		}
		r, err := a.await(ctx, c, seq)
		if err != nil {
			return err
		}
		return a.show(r.Task)
	})
}
