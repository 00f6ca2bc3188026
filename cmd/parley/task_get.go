package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
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
		a.subject = args[0]
		c, err := a.dial(ctx)
		if err != nil {
			return err
		}
		var t *a2a.Task
		err = a.onTask(ctx, c, args[0], func(id string) (err error) {
			req := &a2a.GetTaskRequest{ID: id, HistoryLength: a.flags.history}
			if !a.flags.wait {
				t, err = c.GetTask(ctx, req)
				return err
			}
			r, err := a.await(ctx, c, a.follower(c).Watch(ctx, req))
			if err == nil {
				t = r.Task
			}
			return err
		})
		if err != nil {
			return err
		}
		return a.showAndKeep(func() error { return a.show(t) }, &save, t.Artifacts)
	})
	save.register(cmd.Flags(), "")
	return cmd
}

// show prints a task as it was found.
func (a *app) show(t *a2a.Task) error {
	if err := a.print.Task(t); err != nil {
		return err
	}
	a.outcome(t)
	return nil
}
