package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/store/archive"
)

func newAdminExport(a *app) *cobra.Command {
	var audit serve.AuditFlags
	cmd := a.admin(&cobra.Command{
		Use:   "export [file]",
		Short: "Export all tasks as JSON lines; the server may be running",
		Long: `Write all tasks with their logs and files, one JSON object a line, with a checksum
(SHA-256) at the end: to a file that does not exist yet or, without a name or with -, to
standard output. A server may work with the tasks meanwhile; each task is then as of one
moment. The export holds the credentials of webhooks and the keys that sign them: guard
it like the database. API keys are not in it.`,
		Example: `  parley admin export tasks.jsonl
  parley admin export | gzip > tasks.jsonl.gz
  parley admin export --data /var/lib/parley | PARLEY_STORE=postgres://db.example.org/parley parley admin import`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, db *database.Location, args []string) (err error) {
		r, err := db.OpenBeside(ctx)
		if err != nil {
			return err
		}
		defer done(r, &err)
		if err := database.Imported(ctx, r.Kept); err != nil {
			return err
		}
		return a.audited(&audit, db, a2aserver.AuditAdminExport, fileOf(args), func() ([]slog.Attr, error) {
			if len(args) == 0 || args[0] == "-" {
				n, sum, err := a.export(ctx, r, a.stdout)
				if err == nil {
					a.stderr.Note("Exported", "%s, %s", plain.Count(n.Tasks, "task"), plain.Count(n.Entries, "entry"))
					a.stderr.Note("Checksum", "%s", sum)
				}
				return counts(n), err
			}
			n, sum, err := a.exportTo(ctx, r, args[0])
			if err != nil {
				return counts(n), err
			}
			a.stderr.Note("Checksum", "%s", sum)
			return counts(n), a.say("Exported %s, %s to %s", plain.Count(n.Tasks, "task"), plain.Count(n.Entries, "entry"), plain.Quote(args[0]))
		})
	})
	audit.Register(cmd.Flags(), auditUsage)
	return cmd
}

func counts(n archive.Count) []slog.Attr {
	return []slog.Attr{slog.Any("tasks", n.Tasks), slog.Any("entries", n.Entries)}
}

// export writes an export, and shows its size so far.
func (a *app) export(ctx context.Context, src archive.Source, to io.Writer) (archive.Count, string, error) {
	w := &writing{Writer: to}
	defer a.progress("exporting", plain.Bytes, func() (int64, int64) { return w.n.Load(), 0 })()
	return archive.Export(ctx, src, w)
}

// exportTo writes an export to a new file.
func (a *app) exportTo(ctx context.Context, src archive.Source, name string) (n archive.Count, sum string, err error) {
	err = create(name, 0o600, func(w io.Writer) (err error) {
		n, sum, err = a.export(ctx, src, w)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s exists; choose another name", plain.Quote(name))
	}
	return n, sum, err
}
