package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/store"
)

type gcFlags struct {
	olderThan time.Duration
	states    taskStates
	dryRun    bool
	audit     auditFlags
}

func newAdminGC(a *app) *cobra.Command {
	var f gcFlags
	cmd := a.admin(&cobra.Command{
		Use:   "gc",
		Short: "Delete old tasks, with the server stopped",
		Long: `Delete the tasks, whoever's they are, that have not changed their state for
--older-than: finished ones, or those in the states named. With a task go its
messages, its artifacts and the files that no other task has. Tasks at work are
never deleted. What was kept to know messages that come again is deleted where the
--retry-window of the server is over. With --dry-run it only counts, also beside a running server.

A running server does this by itself: parley serve --retain-completed 720h.`,
		Example: `  parley admin gc --older-than 720h
  parley admin gc --older-than 24h --state failed --state canceled
  parley admin gc --state input-required --dry-run`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, db *location, _ []string) error {
		if f.olderThan < 0 {
			return usagef("--older-than cannot be negative")
		}
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
	fs.DurationVar(&f.olderThan, "older-than", 720*time.Hour, "`age` from which tasks are deleted")
	fs.Var(&f.states, "state", "only tasks in this `state`, such as failed or input-required; may be repeated (default: all finished ones)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "count and delete nothing")
	f.audit.registerAs(fs, auditUsage)
	return cmd
}

// gcBatch is how many tasks go at once. Nobody waits meanwhile, but who
// interrupts should not wait long either.
const gcBatch = 256

func (a *app) gc(ctx context.Context, db *location, f *gcFlags) (err error) {
	st, err := db.openAlone(ctx, false)
	if err != nil {
		return err
	}
	defer done(st, &err)
	before, total, receipts, seen := time.Now().Add(-f.olderThan), 0, 0, 0
	d, err := a.begin(&f.audit, db, a2aserver.AuditAdminGC, slog.String("older_than", f.olderThan.String()), slog.String("states", f.words()))
	if err != nil {
		return err
	}
	defer func() { d.end(err, slog.Int("tasks", total), slog.Int("receipts", receipts)) }()
	if _, err := st.Delete(ctx, nil); err != nil { // what a killed gc left
		return err
	}
	var each []string
	for _, state := range f.states {
		x := store.Expiry{
			State: int32(state), Before: before, Batch: gcBatch,
			Keep: func(*store.Row) bool { seen++; return false },
			Pause: func(time.Duration) error {
				a.note("Progress", "%d tasks", seen)
				return context.Cause(ctx)
			},
		}
		n, err := x.Run(ctx, st)
		total += n
		if err != nil {
			return err
		}
		if n > 0 {
			each = append(each, fmt.Sprintf("%s %d", stateWord(state), n))
		}
	}
	// Those of the deleted tasks are gone with them. Of the others, what does
	// not count any more is of no use to anybody, whatever --older-than says.
	receipts, err = forget(ctx, st, store.ForgetQuery{Before: time.Now(), Limit: gcBatch})
	if err != nil {
		return err
	}
	if receipts > 0 {
		a.note("Forgot", "%s of messages that came longer ago than the --retry-window was", plural(receipts, "receipt"))
	}
	return a.say("Deleted %s%s", plural(total, "task"), inParens(each))
}

// words are the states that it is about.
func (f *gcFlags) words() string {
	words := make([]string, len(f.states))
	for i, s := range f.states {
		words[i] = stateWord(s)
	}
	return strings.Join(words, " ")
}

func (a *app) gcDry(ctx context.Context, db *location, f *gcFlags) (err error) {
	r, err := db.openBeside(ctx)
	if err != nil {
		return err
	}
	defer done(r, &err)
	before, total := time.Now().Add(-f.olderThan), 0
	var each []string
	for _, state := range f.states {
		q := store.IdleQuery{State: int32(state), Before: before, Limit: 1000}
		n := 0
		for {
			rows, err := r.Idle(ctx, q)
			if err != nil {
				return err
			}
			n += len(rows)
			if len(rows) < q.Limit {
				break
			}
			q.After = &rows[len(rows)-1]
		}
		total += n
		if n > 0 {
			each = append(each, fmt.Sprintf("%s %d", stateWord(state), n))
		}
	}
	return a.say("Would delete %s%s", plural(total, "task"), inParens(each))
}

func inParens(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// stateWord is a state as flags have it.
func stateWord(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// taskStates is a repeatable flag of states in which no task is at work.
type taskStates []a2a.TaskState

func (s *taskStates) String() string { return "" }
func (s *taskStates) Type() string   { return "state" }
func (s *taskStates) Set(words string) error {
	for word := range strings.SplitSeq(words, ",") {
		var one taskState
		if err := one.Set(word); err != nil {
			return err
		}
		state := a2a.TaskState(one)
		if !state.Terminal() && !state.Interrupted() {
			return fmt.Errorf("tasks that are %s are at work and never deleted", stateWord(state))
		}
		*s = append(*s, state)
	}
	return nil
}
