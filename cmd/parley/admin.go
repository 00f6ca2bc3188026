package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/store/sqlite"
)

// admin makes cmd a command on the tasks that a server keeps in a directory.
// They are for who may read and write its files; callers and credentials do not
// come in.
func (a *app) admin(cmd *cobra.Command, run func(ctx context.Context, db string, args []string) error) *cobra.Command {
	var data string
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&data, "data", defaultData, "`directory` of the database, as parley serve has it")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageOf(cmd, err)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		db := filepath.Join(data, "parley.db")
		err := run(cmd.Context(), db, args)
		var f *failure
		switch {
		case err == nil || errors.As(err, &f):
			return err
		case cmd.Context().Err() != nil:
			return newFailure(codeInterrupted, "interrupted; what was done so far stays done, the same command goes on with the rest", err)
		}
		f = newFailure(codeAdmin, err.Error(), err)
		f.Hint = storeHint(db, err)
		return f
	}
	return cmd
}

// openAlone opens a database for commands that change it. A server must not
// have it: it would not see that its tasks are gone.
func openAlone(db string, overwrite bool) (*sqlite.Store, error) {
	r, err := sqlite.OpenReader(db) // which makes nothing where nothing is
	if err != nil {
		return nil, absent(err)
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	return openOrMake(db, overwrite)
}

func openOrMake(db string, overwrite bool) (*sqlite.Store, error) {
	st, err := sqlite.Open(db, &sqlite.Options{Overwrite: overwrite})
	if err == nil {
		return st, nil
	}
	f := newFailure(codeAdmin, err.Error(), err)
	if strings.Contains(err.Error(), "in use by") {
		return nil, f.withHint("stop the server for it; a server deletes by itself with --retain-completed, --retain-failed and --retain-waiting, and backup and export work beside it")
	}
	if f.Hint = storeHint(db, err); f.Hint == "" {
		f.Hint = "--data names the directory"
	}
	return nil, f
}

// openBeside opens a database for commands that only read it.
func openBeside(db string) (*sqlite.Reader, error) {
	r, err := sqlite.OpenReader(db)
	if err != nil {
		return nil, absent(err)
	}
	return r, nil
}

func absent(err error) error {
	return newFailure(codeAdmin, err.Error(), err).withHint("--data names the directory that parley serve keeps its tasks in")
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
