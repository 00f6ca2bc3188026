package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/storecheck"
)

func newAdminStore(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "store", Short: "Judge a database server"}, newAdminStoreCheck(a))
}

func newAdminStoreCheck(a *app) *cobra.Command {
	var here bool
	var areas []string
	var format *string
	cmd := a.admin(&cobra.Command{
		Use:   "check [address]",
		Short: "Find out whether Parley works with a PostgreSQL server, or one that resembles it",
		Long: `Run the tests that every store of Parley has to pass on a database server, and print
what holds, what fails, what Parley does without there, and whether what the server
acknowledges is kept. It takes a minute or more.

The tests run in a new database, parley_check_ and a random word, which is dropped at
the end; the role needs the right to create one. With --here they run in the database of
the address, which must have no schema parley: it is made and dropped. Nothing else is
touched, but the server is busy meanwhile.

Exit code 1 means that a test fails, or that parley serve would refuse the server.`,
		Example: `  parley admin store check postgres://parley@db.example.org/parley
  parley admin store check postgres://parley@db.example.org/empty --here -o json`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, db *database.Location, _ []string) error {
		if db.Address == "" {
			return failure.Usagef("which server?").WithHint("parley admin store check postgres://user@host/database")
		}
		for _, name := range areas {
			if all := storecheck.Areas(); !slices.Contains(all, name) {
				return failure.Usagef("--area: there is no %s", plain.Quote(name)).WithHint("it is one of %s", strings.Join(all, ", "))
			}
		}
		return a.checkStore(ctx, db, here, areas, *format == "json")
	})
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return cmd.Flags().Set("store", args[0])
	}
	_ = cmd.Flags().MarkHidden("data") // a check has no audit log
	cmd.Flags().BoolVar(&here, "here", false, "use the database of the address, which must have no schema parley")
	cmd.Flags().StringSliceVar(&areas, "area", nil, "run this `part` of the tests alone, such as lists; may be repeated")
	format = outputFlag(cmd.Flags())
	return cmd
}

// checkStore checks a database server, and leaves nothing behind.
func (a *app) checkStore(ctx context.Context, db *database.Location, here bool, areas []string, asJSON bool) (err error) {
	s, err := storecheck.NewScratch(ctx, db.Address, here)
	if err != nil {
		return err
	}
	what := "database " + s.Name
	if here {
		what = "schema parley in the database " + s.Name
	}
	a.stderr.Note("Check", "the %s at %s is made for the tests, and dropped at the end; nothing else is touched", what, db.Host())
	defer func() {
		if !s.Made {
			return
		}
		left, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if failed := s.Remove(left); failed != nil {
			err = errors.Join(err, failed, fmt.Errorf("drop the %s yourself", what))
		}
	}()
	switch err := s.Make(ctx); {
	case errors.Is(err, storecheck.ErrMayNotCreate):
		return failure.New(failure.CodeAdmin, err.Error(), err).WithHint("name a role that may, or make an empty database and name that one with --here")
	case errors.Is(err, storecheck.ErrSchemaThere):
		return failure.New(failure.CodeAdmin, err.Error(), err).WithHint("leave --here out, or name an empty database")
	case err != nil:
		return err
	}
	r, err := storecheck.Run(ctx, s, areas, func(r *storecheck.Report, area *storecheck.Area) error {
		if asJSON {
			return nil
		}
		return a.say("%s", r.Lines(area))
	})
	switch {
	case ctx.Err() != nil:
		return failure.New(failure.CodeInterrupted, "interrupted; the tests are not complete", err)
	case err != nil:
		return err
	}
	if !r.Usable {
		a.exit = failure.New(failure.CodeAdmin, "", nil).Exit()
	}
	if asJSON {
		return a.sayJSON(r)
	}
	return a.say("\n%s", r.Verdict())
}
