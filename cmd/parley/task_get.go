package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
)

func newTaskGet(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "get <task-id>",
		Short: "Show a task: its state, its artifacts, with --history its messages",
		Long: `Show a task: its state, its artifacts and, with --history n, its last messages.
With --wait it polls until the task is finished or needs you.`,
		Args: oneTask,
	}, func(ctx context.Context, args []string) error {
		a.subject = args[0]
		c, err := a.dial(ctx)
		if err != nil {
			return err
		}
		req := &a2a.GetTaskRequest{ID: args[0], HistoryLength: a.flags.history}
		if !a.flags.wait {
			t, err := c.GetTask(ctx, req)
			if err != nil {
				return err
			}
			return a.show(t)
		}
		r, err := a.await(ctx, c, a.follower(c).Watch(ctx, req))
		if err != nil {
			return err
		}
		return a.show(r.Task)
	})
}

// show prints a task as it was found.
func (a *app) show(t *a2a.Task) error {
	if err := a.print.task(t); err != nil {
		return err
	}
	a.outcome(t)
	return nil
}
