package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// ofTask makes cmd a command on a task, whose id is its argument. If save is not nil, the command
// may save artifacts.
func (a *app) ofTask(cmd *cobra.Command, save *saveFlags, run func(ctx context.Context, c *a2aclient.Client, id string) error) *cobra.Command {
	cmd.Args = oneTask
	return a.client(cmd, func(ctx context.Context, args []string) error {
		if err := save.check(); err != nil {
			return err
		}
		return a.withTask(ctx, args[0], func(c *a2aclient.Client, id string) error { return run(ctx, c, id) })
	})
}

// withTask dials, and runs do for the task of a command.
func (a *app) withTask(ctx context.Context, id string, do func(c *a2aclient.Client, id string) error) error {
	a.subject = id
	c, err := a.dial(ctx)
	if err != nil {
		return err
	}
	return a.onTask(ctx, c, id, func(id string) error { return do(c, id) })
}

// onTask runs do for a task that the command line names by its id or, if the agent has no task
// with that id, by the beginning of an id, as task list shows it.
func (a *app) onTask(ctx context.Context, svc a2a.Service, id string, do func(id string) error) error {
	err := do(id)
	if !errors.Is(err, a2a.ErrTaskNotFound) || len(id) < 8 {
		return err
	}
	page, listErr := svc.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: new(int32(a2a.MaxPageSize)), HistoryLength: new(int32(0))})
	if listErr != nil {
		return err // the missing task is the error that matters
	}
	var found []string
	for _, t := range page.Tasks {
		if strings.HasPrefix(t.ID, id) && t.ID != id {
			found = append(found, t.ID)
		}
	}
	switch len(found) {
	case 0:
		return err
	case 1:
		a.subject = found[0]
		return do(found[0])
	}
	return failure.Usagef("%d tasks begin with %s", len(found), plain.Quote(id)).
		WithHint("give more of the id, such as %s; %s shows them", plain.Quote(found[0]), a.commands.Line("task list"))
}

func newTaskGet(a *app) *cobra.Command {
	var save saveFlags
	cmd := a.ofTask(&cobra.Command{
		Use:   "get <task-id>",
		Short: "Show a task's state, artifacts and, with --history, messages",
		Long: `Show a task: its state, its artifacts and, with --history n, its last messages.
With --wait it polls until the task has finished or needs you.`,
		Example: `  parley task get <task-id>
  parley task get --wait --history 10 <task-id>
  parley task get <task-id> -o json --jq .status.state`,
	}, &save, func(ctx context.Context, c *a2aclient.Client, id string) error {
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

func newTaskSubscribe(a *app) *cobra.Command {
	var save saveFlags
	cmd := a.ofTask(&cobra.Command{
		Use:   "subscribe <task-id>",
		Short: "Follow a task's events until it finishes or needs you",
		Long: `Follow a running task until it has finished or needs you: with --stream, print every
event as it arrives, otherwise the task at its end.`,
		Example: `  parley task subscribe <task-id>
  parley task subscribe --stream <task-id>`,
	}, &save, func(ctx context.Context, c *a2aclient.Client, id string) error {
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
	save.register(cmd.Flags(), "")
	return cmd
}

func newTaskCancel(a *app) *cobra.Command {
	return a.ofTask(&cobra.Command{
		Use:     "cancel <task-id>",
		Short:   "Cancel a task",
		Example: `  parley task cancel <task-id>`,
	}, nil, func(ctx context.Context, c *a2aclient.Client, id string) error {
		t, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id, Metadata: a2a.JSON(a.flags.metadata)})
		if err != nil {
			return err
		}
		return a.print.Task(t)
	})
}
