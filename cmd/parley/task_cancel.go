package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

func newTaskCancel(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:     "cancel <task-id>",
		Short:   "Cancel a task",
		Example: `  parley task cancel <task-id>`,
		Args:    oneTask,
	}, func(ctx context.Context, args []string) error {
		return a.withTask(ctx, args[0], func(c *a2aclient.Client, id string) error {
			t, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id, Metadata: a2a.JSON(a.flags.metadata)})
			if err != nil {
				return err
			}
			return a.print.Task(t)
		})
	})
}
