package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

func newTaskGet(a *app) *cobra.Command {
	var save saveFlags
	cmd := a.client(&cobra.Command{
		Use:   "get <task-id>",
		Short: "Show a task's state, artifacts and, with --history, messages",
		Long: `Show a task: its state, its artifacts and, with --history n, its last messages.
With --wait it polls until the task has finished or needs you.`,
		Example: `  parley task get <task-id>
  parley task get --wait --history 10 <task-id>
  parley task get <task-id> -o json --jq .status.state`,
		Args: oneTask,
	}, func(ctx context.Context, args []string) error {
		if err := save.check(); err != nil {
			return err
		}
		return a.withTask(ctx, args[0], func(c *a2aclient.Client, id string) error {
			req := &a2a.GetTaskRequest{ID: id, HistoryLength: a.flags.history}
			if a.flags.wait {
				return a.showEnd(ctx, c, a.follower(c).Watch(ctx, req), &save)
			}
			t, err := c.GetTask(ctx, req)
			if err != nil {
				return err
			}
			return a.showAndKeep(func() error { return a.show(t) }, &save, t.Artifacts)
		})
	})
	save.register(cmd.Flags(), "")
	return cmd
}

// showEnd waits for a task, and shows it.
func (a *app) showEnd(ctx context.Context, c *a2aclient.Client, seq events, save *saveFlags) error {
	r, err := a.await(ctx, c, seq)
	if err != nil {
		return err
	}
	return a.showAndKeep(func() error { return a.show(r.Task) }, save, r.Task.Artifacts)
}

// show prints a task in its present state.
func (a *app) show(t *a2a.Task) error {
	if err := a.print.Task(t); err != nil {
		return err
	}
	a.outcome(t)
	return nil
}
