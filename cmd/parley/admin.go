package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
)

// admin makes cmd a command on the tasks that a server keeps in a directory. It is for people
// who may read and write the directory's files, without callers and credentials.
func (a *app) admin(cmd *cobra.Command, run func(ctx context.Context, db *database.Location, args []string) error) *cobra.Command {
	var f database.Flags
	cmd.Flags().SortFlags = false
	f.Register(cmd.Flags(), false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := noShared(cmd); err != nil {
			return err
		}
		db, err := f.Resolve(cmd.Flags(), a.around.lookup, a.stderr, false)
		if err == nil && db.Memory() {
			err = failure.Usagef("tasks in memory are gone with their server: %s has to say where they are kept", database.Env)
		}
		if err == nil {
			db.Migrating = a.migrating()
			err = run(cmd.Context(), db, args)
		}
		switch _, ok := errors.AsType[*failure.Error](err); {
		case err == nil || ok:
			return err
		case cmd.Context().Err() != nil:
			return failure.New(failure.CodeInterrupted, "interrupted; what was done so far stays done, the same command goes on with the rest", err)
		}
		failed := failure.New(failure.CodeAdmin, err.Error(), err)
		failed.Hint = db.Hint(err)
		return failed
	}
	return cmd
}

// done closes a file that was written: only then is everything in it.
func done(st interface{ Close() error }, err *error) {
	if closed := st.Close(); *err == nil {
		*err = closed
	}
}

func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format+"\n", args...)
	return printed(err)
}
