package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

// serverOf returns the administration of the server that runs with a database on this machine;
// nil if there is none.
func serverOf(ctx context.Context, db *database.Location) (*admin.Client, *admin.Local, error) {
	api, l, err := admin.Find(ctx, db.AdminFile())
	if errors.Is(err, admin.ErrNoServer) {
		return nil, nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		err = db.Absent(err)
	}
	return api, l, err
}

// ofServer makes cmd a command on the server that runs with a database.
func (a *app) ofServer(cmd *cobra.Command, run func(ctx context.Context, api *admin.Client, l *admin.Local) error) *cobra.Command {
	return a.admin(cmd, func(ctx context.Context, db *database.Location, _ []string) error {
		api, l, err := serverOf(ctx, db)
		if err == nil && api == nil {
			return failure.New(failure.CodeAdmin, "no server runs with "+db.String()+" on this machine", admin.ErrNoServer).
				WithHint("parley serve starts one; --data or --store names another database")
		}
		if err != nil {
			return err
		}
		return run(ctx, api, l)
	})
}

func newAdminTasks(a *app) *cobra.Command {
	var (
		asJSON bool
		state  a2a.TaskState
	)
	cmd := a.ofServer(&cobra.Command{
		Use:   "tasks",
		Short: "List the tasks that a running server works on and what they wait for",
		Long: `List the tasks that a running server is working on or has queued, whoever owns them,
and what each waits for: its agent, capacity, the database or another process. Tasks
that wait for their client are not among them: --state input-required lists those.`,
		Example: `  parley admin tasks
  parley admin tasks --state input-required --json`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, api *admin.Client, _ *admin.Local) error {
		n := 0
		row, flush := a.table()
		q := admin.TaskQuery{Query: admin.Query{Limit: admin.MaxLimit}, AtWork: state == 0}
		if state != 0 {
			q.State = admin.StateWord(state)
		}
		for {
			page, err := api.Tasks(ctx, q)
			if err != nil {
				return err
			}
			for i := range page.Tasks {
				t := &page.Tasks[i]
				if asJSON {
					if err := a.sayJSON(t); err != nil {
						return err
					}
					continue
				}
				if n == 0 {
					row("ID", "STATE", "CHANGED", "AGENT", "OWNER", "WAITS FOR", "WORDS")
				}
				wait := ""
				if t.Wait != nil {
					wait = t.Wait.For
				}
				row(t.ID, t.State, terminal.Age(time.Since(t.Updated)), t.Agent, t.Owner, wait, terminal.Cut(t.Words, 40))
				n++
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if asJSON {
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		if err := a.say("Tasks: %d", n); err != nil || state != 0 {
			return err
		}
		return a.noteWaiting(ctx, api)
	})
	one := flagvalue.Of("state", &state, func(word string) (a2a.TaskState, error) {
		if word == "" { // an unset variable of a script
			return 0, nil
		}
		return admin.ParseState(word)
	}, nil)
	one.Words = admin.StateWords()
	cmd.Flags().Var(one, "state", "list the tasks in this `state` instead of those at work")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// noteWaiting prints how many tasks are not at work because they wait for their clients.
func (a *app) noteWaiting(ctx context.Context, api *admin.Client) error {
	for _, state := range []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired} {
		page, err := api.Tasks(ctx, admin.TaskQuery{Query: admin.Query{Limit: 1}, State: admin.StateWord(state)})
		if err != nil {
			return err
		}
		if page.Total > 0 {
			a.stderr.Note("Note", "%s not at work, because the client has to answer: --state %s", plain.Count(page.Total, "task"), admin.StateWord(state))
		}
	}
	return nil
}

func newAdminStatus(a *app) *cobra.Command {
	return a.ofServer(&cobra.Command{
		Use:   "status",
		Short: "Show whether a running server is ready, its agents and its database",
		Example: `  parley admin status
  parley admin status --data /var/lib/parley`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, api *admin.Client, l *admin.Local) error {
		ready, err := api.Readiness(ctx)
		if err != nil {
			return err
		}
		out := output.NewWriter(a.stdout)
		out.Field("Server", fmt.Sprintf("%s (pid %d), since %s", l.URL, l.PID, plain.Date(ready.Started)))
		is := "yes"
		if !ready.Ready {
			is = "no: " + ready.Reason
		}
		out.Field("Ready", is)
		if err := out.Flush(); err != nil { // the rest needs the database
			return err
		}
		agents, err := api.Agents(ctx)
		if err != nil {
			return err
		}
		nodes, err := api.Nodes(ctx)
		if err != nil {
			return err
		}
		st, err := api.Store(ctx)
		if err != nil {
			return err
		}
		for i := range agents {
			s := &agents[i]
			is := s.State
			if s.Reason != "" {
				is += ": " + s.Reason
			}
			total := 0
			for _, n := range s.Tasks {
				total += n
			}
			name := cmp.Or(s.Name, s.What)
			out.Field("Agent", fmt.Sprintf("%s, %s, %s", name, is, plain.Count(total, "unfinished task")))
		}
		for i := range nodes {
			n := &nodes[i]
			is := n.State
			if n.This {
				is += ", this one, " + plain.Count(n.Tasks, "task") + " here"
			} else if !n.Beat.IsZero() {
				is += ", heard " + terminal.Age(ready.Now.Sub(n.Beat))
			}
			out.Field("Node", n.Name+", "+is)
		}
		where := st.Where
		if st.Bytes > 0 {
			where += ", " + plain.Count(st.Bytes, "byte")
		}
		out.Field("Tasks", where)
		out.Field("Trouble", st.Trouble)
		return out.Flush()
	})
}

func newAdminConsole(a *app) *cobra.Command {
	return a.ofServer(&cobra.Command{
		Use:   "console",
		Short: "Print the link to the web console of a running server",
		Long: `Print the link to the web console of the server that runs here. If the server is for
this machine alone, or asks for no credentials, the link lets you in until the server
stops: do not pass it on. Otherwise the console asks for an API key.`,
		Example: `  parley admin console
  parley admin console --data /var/lib/parley`,
		Args: cobra.NoArgs,
	}, func(_ context.Context, _ *admin.Client, l *admin.Local) error {
		if l.Console == "" {
			return failure.New(failure.CodeAdmin, "the server at "+l.URL+" has no console", nil).WithHint("it was started with --no-console, or by an older version")
		}
		return a.say("%s", l.Console.Reveal())
	})
}
