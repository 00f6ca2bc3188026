package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// admin makes cmd a command on the tasks that a server keeps in a directory.
// They are for who may read and write its files; callers and credentials do not
// come in.
func (a *app) admin(cmd *cobra.Command, run func(ctx context.Context, db *location, args []string) error) *cobra.Command {
	var f storeFlags
	cmd.Flags().SortFlags = false
	f.register(cmd.Flags(), false)
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageOf(cmd, err)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		db, err := f.resolve(a, cmd.Flags(), false)
		if err == nil && db.memory() {
			err = usagef("tasks in memory are gone with their server: %s has to say where they are kept", storeEnv)
		}
		if err == nil {
			err = run(cmd.Context(), db, args)
		}
		var f *failure
		switch {
		case err == nil || errors.As(err, &f):
			return err
		case cmd.Context().Err() != nil:
			return newFailure(codeInterrupted, "interrupted; what was done so far stays done, the same command goes on with the rest", err)
		}
		f = newFailure(codeAdmin, err.Error(), err)
		f.Hint = db.hint(err)
		return f
	}
	return cmd
}

// done closes what was written to: only then is it all in one file.
func done(st interface{ Close() error }, err *error) {
	if closed := st.Close(); *err == nil {
		*err = closed
	}
}

func (a *app) say(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.stdout, format+"\n", args...); err != nil {
		return newFailure(codeInternal, "print: "+err.Error(), err)
	}
	return nil
}

// plural is n things.
func plural[N int | int64](n N, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y"):
		return fmt.Sprint(n, " ", strings.TrimSuffix(thing, "y"), "ies")
	}
	return fmt.Sprint(n, " ", thing, "s")
}

// oneFile takes the name of a file; optional says that it may be left out.
func oneFile(optional bool) cobra.PositionalArgs {
	if optional {
		return cobra.MaximumNArgs(1)
	}
	return cobra.ExactArgs(1)
}
