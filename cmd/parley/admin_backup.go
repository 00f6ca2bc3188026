package main

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/store/sqlite"
)

func newAdminBackup(a *app) *cobra.Command {
	var audit serve.AuditFlags
	cmd := a.admin(&cobra.Command{
		Use:   "backup <file>",
		Short: "Copy the database to a new file; the server may be running",
		Long: `Copy the database as of one moment to a new file. The server may be running. The copy is
checked before it gets its name; to use it, put it into an empty directory as
parley.db and serve that directory with --data. For PostgreSQL use pg_dump.`,
		Example: `  parley admin backup --data /var/lib/parley /backup/parley-$(date +%F).db`,
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, db *database.Location, args []string) (err error) {
		if db.Shared() {
			return failure.New(failure.CodeAdmin, "a backup of "+db.String()+" is PostgreSQL's business", nil).
				WithHint("pg_dump --format=custom --schema=parley copies it as of one moment, beside running servers; for the hours since, archive its WAL. parley admin export writes tasks as text")
		}
		r, err := sqlite.OpenReader(db.File)
		if err != nil {
			return db.Absent(err)
		}
		defer done(r, &err)
		return a.audited(&audit, db, a2aserver.AuditAdminBackup, fileOf(args), func() ([]slog.Attr, error) {
			size, err := a.backup(ctx, r, args[0])
			return []slog.Attr{slog.Int64("bytes", size)}, err
		})
	})
	audit.Register(cmd.Flags(), auditUsage)
	return cmd
}

func (a *app) backup(ctx context.Context, r *sqlite.Reader, to string) (size int64, err error) {
	var part atomic.Value // a string: the name of the growing file
	total := r.Size(ctx)
	stop := a.progress("copying", plain.Bytes, func() (int64, int64) {
		name, _ := part.Load().(string)
		st, err := os.Stat(name)
		if err != nil {
			return 0, total
		}
		return st.Size(), total
	})
	err = r.Backup(ctx, to, func(file string) { part.Store(file) })
	if stop(); err != nil {
		return 0, err
	}
	st, err := os.Stat(to)
	if err != nil {
		return 0, err
	}
	return st.Size(), a.say("Backed up to %s, %s, checked", plain.Quote(to), plain.Count(st.Size(), "byte"))
}
