package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

func newAdminImport(a *app) *cobra.Command {
	var audit serve.AuditFlags
	cmd := a.admin(&cobra.Command{
		Use:   "import [file]",
		Short: "Import the tasks of an export; the server must be stopped",
		Long: `Import the tasks of an export, from a file or standard input (-), into the database,
which is created if needed. The whole export is checked first: if it is damaged, or a
task exists already and differs, nothing is changed. Stop every server of the database
first; a PostgreSQL database must have no tasks.

Afterwards the database is read back and the two checksums are compared. If an import
was cut off, run it again with the same export; until then the database is not served.
Unfinished tasks resume when it is served.`,
		Example: `  parley admin import --data /var/lib/parley tasks.jsonl
  gunzip < tasks.jsonl.gz | parley admin import`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, db *database.Location, args []string) (err error) {
		in, err := a.importFrom(ctx, args, db)
		if err != nil {
			return err
		}
		defer in.Close()
		st, err := db.OpenOrMake(ctx, false)
		if err != nil {
			return err
		}
		defer done(st, &err)
		return a.audited(&audit, db, a2aserver.AuditAdminImport, fileOf(args), func() ([]slog.Attr, error) {
			got, err := a.importInto(ctx, st, in, db.Shared())
			return counts(got.New), err
		})
	})
	audit.Register(cmd.Flags(), auditUsage)
	return cmd
}

func (a *app) importInto(ctx context.Context, st store.Store, in database.File, shared bool) (got archive.Imported, err error) {
	var size int64
	if st, err := in.Stat(); err == nil && st.Mode().IsRegular() {
		size = st.Size()
	}
	from := &reading{ReadSeeker: in}
	// It is read twice: to check it, and to import it.
	stop := a.progress("checking and importing", plain.Bytes, func() (int64, int64) { return from.n.Load() / 2, size })
	got, err = archive.Import(ctx, st, from, shared)
	if stop(); err != nil {
		return got, importFailure(err)
	}
	if got.There.Tasks > 0 {
		a.stderr.Note("Note", "%s had been there already", plain.Count(got.There.Tasks, "task"))
	}
	if got.There.Other > 0 {
		a.stderr.Note("Note", "the database has keys of its own to sign webhooks with, and keeps them; receivers that know those of the export refuse what it delivers until they are told")
	}
	if err := a.say("Imported %s, %s", plain.Count(got.New.Tasks, "task"), plain.Count(got.New.Entries, "entry")); err != nil {
		return got, err
	}
	return got, a.compare(ctx, st, in, size, &got)
}

// compare reports whether a database holds everything in an export: by the checksum of its own
// export, if it holds nothing else, otherwise task by task.
func (a *app) compare(ctx context.Context, st store.Store, in io.ReadSeeker, size int64, got *archive.Imported) error {
	again := &writing{Writer: io.Discard}
	stop := a.progress("comparing", plain.Bytes, func() (int64, int64) { return again.n.Load(), size })
	n, sum, err := archive.Export(ctx, st, again)
	if stop(); err != nil {
		return err
	}
	tasks, entries := got.New.Tasks+got.There.Tasks, got.New.Entries+got.There.Entries
	if err := a.say("Export:   %s, %s, %s", got.Sum, plain.Count(tasks, "task"), plain.Count(entries, "entry")); err != nil {
		return err
	}
	if err := a.say("Database: %s, %s, %s", sum, plain.Count(n.Tasks, "task"), plain.Count(n.Entries, "entry")); err != nil {
		return err
	}
	if sum == got.Sum {
		return nil
	}
	// It also has other tasks or keys, or it has made deliveries since an earlier import, or
	// receipts had expired.
	from := &reading{ReadSeeker: in}
	defer a.progress("comparing task by task", plain.Bytes, func() (int64, int64) { return from.n.Load(), size })()
	if err := archive.Compare(ctx, st, from); err != nil {
		return failure.New(failure.CodeAdmin, "the database does not hold what the export does: "+err.Error(), err)
	}
	return a.say("Compared task by task: every task of the export is there as it is in it; the database holds more, or knows more of webhooks")
}

// importFailure returns the failure of a refused import.
func importFailure(err error) error {
	switch {
	case errors.Is(err, archive.ErrNotEmpty):
		return failure.New(failure.CodeAdmin, "import: "+err.Error(), err).WithHint("make another database, or drop the schema of this one: DROP SCHEMA parley CASCADE")
	case errors.Is(err, archive.ErrImporting):
		return failure.New(failure.CodeAdmin, "import: "+err.Error(), err).WithHint("run the import that was cut off again, or begin with a fresh database")
	}
	return err
}

// importFrom opens the export. It is read more than once, so standard input goes to
// a file first.
func (a *app) importFrom(ctx context.Context, args []string, db *database.Location) (database.File, error) {
	if len(args) > 0 && args[0] != "-" {
		return os.Open(args[0])
	}
	return db.Spool(ctx, a.stdin)
}
