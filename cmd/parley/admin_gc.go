package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/store"
)

type gcFlags struct {
	olderThan time.Duration
	states    []a2a.TaskState
	dryRun    bool
	audit     serve.AuditFlags
}

func newAdminGC(a *app) *cobra.Command {
	var f gcFlags
	cmd := a.admin(&cobra.Command{
		Use:   "gc",
		Short: "Delete old tasks; the server may be running",
		Long: `Delete tasks whose state has not changed for --older-than: finished ones, or those in
the states you name, whoever owns them. Their messages, artifacts and files go with
them; tasks at work are never deleted. Receipts of messages older than the server's
--retry-window are deleted as well. --dry-run only counts.

If a server is running on this machine, it does the work. It can also do so by itself:
parley serve --retain-completed 30d.`,
		Example: `  parley admin gc --older-than 720h
  parley admin gc --older-than 24h --state failed --state canceled
  parley admin gc --state input-required --dry-run`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, db *database.Location, _ []string) error {
		if f.olderThan < 0 {
			return failure.Usagef("--older-than cannot be negative")
		}
		slices.Sort(f.states)
		f.states = slices.Compact(f.states) // each is counted once
		if len(f.states) == 0 {
			for _, s := range a2a.TaskStates() {
				if s.Terminal() {
					f.states = append(f.states, s)
				}
			}
		}
		if f.dryRun {
			return a.gcDry(ctx, db, &f)
		}
		return a.gc(ctx, db, &f)
	})
	fs := cmd.Flags()
	f.olderThan = 720 * time.Hour
	fs.Var(flagvalue.Span(&f.olderThan), "older-than", "`age` from which tasks are deleted")
	states := flagvalue.List("state", &f.states, parseIdleStates, nil)
	states.Words = slices.DeleteFunc(admin.StateWords(), func(word string) bool {
		_, err := parseIdleStates(word)
		return err != nil
	})
	fs.Var(states, "state", "only tasks in this `state`, such as failed or input-required; may be repeated (default: all finished ones)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "count the tasks, and delete nothing")
	f.audit.Register(fs, auditUsage)
	return cmd
}

func (a *app) gc(ctx context.Context, db *database.Location, f *gcFlags) (err error) {
	api, _, err := serverOf(ctx, db)
	if err != nil {
		return err
	}
	var st database.Store
	if api == nil {
		if st, err = db.OpenAlone(ctx, false); err != nil {
			return err
		}
		defer done(st, &err)
	}
	what := []slog.Attr{slog.String("older_than", f.olderThan.String()), slog.String("states", strings.Join(f.words(), " "))}
	return a.audited(&f.audit, db, a2aserver.AuditAdminGC, what, func() ([]slog.Attr, error) {
		did, err := a.collect(ctx, api, st, f)
		if err == nil && did.Receipts > 0 {
			a.stderr.Note("Forgot", "%s of messages that came longer ago than the --retry-window was", plain.Count(did.Receipts, "receipt"))
		}
		if err == nil {
			err = a.sayTasks("Deleted", f, did)
		}
		return []slog.Attr{slog.Int("tasks", did.Tasks), slog.Int("receipts", did.Receipts)}, err
	})
}

// collect has the server delete tasks; without one, it deletes them itself. After an error it
// returns how many tasks were deleted before.
func (a *app) collect(ctx context.Context, api *admin.Client, st database.Store, f *gcFlags) (did *admin.Collected, err error) {
	did = &admin.Collected{States: map[string]int{}}
	if api != nil {
		res, err := api.Collect(ctx, admin.Collection{OlderThan: admin.Duration(f.olderThan), States: f.words()})
		return cmp.Or(res, did), err
	}
	before, seen := time.Now().Add(-f.olderThan), 0
	if _, err := st.Delete(ctx, nil); err != nil { // left by a killed gc
		return did, err
	}
	looked, stop := a.counted("deleting")
	defer stop()
	if !a.screen.Rewrites() {
		stop() // there is a line for each batch
	}
	for _, state := range f.states {
		x := store.Expiry{
			State: int32(state), Before: before, Batch: database.DeleteBatch,
			Keep: func(*store.Row) bool { seen++; return false },
			Pause: func(time.Duration) error {
				if looked.Store(int64(seen)); !a.screen.Rewrites() {
					a.stderr.Note("Progress", "%d tasks", seen)
				}
				return context.Cause(ctx)
			},
		}
		n, err := x.Run(ctx, st)
		did.Tasks, did.States[admin.StateWord(state)] = did.Tasks+n, n
		if err != nil {
			return did, err
		}
	}
	// The receipts of deleted tasks were deleted with them. Expired receipts of other tasks are
	// useless, so they are deleted regardless of --older-than.
	did.Receipts, err = database.Forget(ctx, st, store.ForgetQuery{Before: time.Now(), Limit: database.DeleteBatch})
	return did, err
}

// words returns the names of the states to delete.
func (f *gcFlags) words() []string {
	words := make([]string, len(f.states))
	for i, s := range f.states {
		words[i] = admin.StateWord(s)
	}
	return words
}

func (a *app) gcDry(ctx context.Context, db *database.Location, f *gcFlags) (err error) {
	r, err := db.OpenBeside(ctx)
	if err != nil {
		return err
	}
	defer done(r, &err)
	before, would := time.Now().Add(-f.olderThan), &admin.Collected{States: map[string]int{}}
	for _, state := range f.states {
		n, err := database.CountIdle(ctx, r.Idle, int32(state), before)
		if err != nil {
			return err
		}
		would.Tasks, would.States[admin.StateWord(state)] = would.Tasks+n, n
	}
	return a.sayTasks("Would delete", f, would)
}

// sayTasks prints the number of tasks, in total and in each state.
func (a *app) sayTasks(what string, f *gcFlags, n *admin.Collected) error {
	var each []string
	for _, word := range f.words() {
		if n := n.States[word]; n > 0 {
			each = append(each, fmt.Sprintf("%s %d", word, n))
		}
	}
	what += " " + plain.Count(n.Tasks, "task")
	if len(each) > 0 {
		what += " (" + strings.Join(each, ", ") + ")"
	}
	return a.say("%s", what)
}

// parseIdleStates parses states in which no task is at work.
func parseIdleStates(words string) (list []a2a.TaskState, err error) {
	for word := range strings.SplitSeq(words, ",") {
		state, err := admin.ParseState(word)
		if err != nil {
			return nil, err
		}
		if !state.Terminal() && !state.Interrupted() {
			return nil, fmt.Errorf("tasks that are %s are at work and never deleted", admin.StateWord(state))
		}
		list = append(list, state)
	}
	return list, nil
}
