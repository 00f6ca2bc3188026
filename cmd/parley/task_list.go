package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/output"
)

func newTaskList(a *app) *cobra.Command {
	var (
		req a2a.ListTasksRequest
		all bool
	)
	cmd := a.client(&cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Long: `List the agent's tasks that you may see, newest first, a page at a time. --context-id
and --status narrow the list.`,
		Example: `  parley task list
  parley task list --status input-required
  parley task list --context-id <id> --all -o json`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		if a.flags.wait && a.settings.from["wait"].level == fromFlag {
			a.stderr.Note("Note", "--wait is for one task, and a list is as of now: %s", a.commands.Line("task subscribe", "<task-id>"))
		}
		return a.list(ctx, &req, all)
	})
	fs := cmd.Flags()
	state := flagvalue.Of("state", &req.Status, admin.ParseState, nil)
	state.Words = admin.StateWords()
	fs.Var(state, "status", "only tasks in this `state`, such as working or TASK_STATE_INPUT_REQUIRED")
	fs.Var(flagvalue.Number("tasks", &req.PageSize, 1, a2a.MaxPageSize), "page-size", "how many `tasks` to fetch at once, 1 to 100 (default: the agent's choice)")
	fs.StringVar(&req.PageToken, "page-token", "", "`token` of the page to fetch, from an earlier list")
	fs.BoolVar(&all, "all", false, "fetch all pages")
	return cmd
}

func (a *app) list(ctx context.Context, req *a2a.ListTasksRequest, all bool) error {
	c, err := a.dial(ctx)
	if err != nil {
		return err
	}
	req.ContextID, req.HistoryLength = a.flags.contextID, a.flags.history
	if _, human := a.print.(*output.Human); human && req.HistoryLength == nil {
		req.HistoryLength = new(int32(10)) // a line shows the first words
	}
	list := new(a2a.ListTasksResponse)
	if err := paged(&req.PageToken, all, func() (next string, err error) {
		page, err := c.ListTasks(ctx, req)
		if err != nil {
			return "", err
		}
		page.Tasks = append(list.Tasks, page.Tasks...)
		list = page
		return page.NextPageToken, nil
	}); err != nil {
		return err
	}
	return a.print.Tasks(list)
}

// paged fetches the page of a token and, if all is true, the pages after it: fetch returns the
// token of the next page.
func paged(token *string, all bool, fetch func() (next string, err error)) error {
	for seen := map[string]bool{}; ; {
		next, err := fetch()
		if err != nil || next == "" || !all {
			return err
		}
		if seen[next] {
			return a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent repeats a page token: the list would never end")
		}
		seen[next], *token = true, next
	}
}
