package main

import (
	"context"
	"errors"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

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
