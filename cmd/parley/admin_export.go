package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/store"
)

func newAdminExport(a *app) *cobra.Command {
	var audit auditFlags
	cmd := a.admin(&cobra.Command{
		Use:   "export [file]",
		Short: "Write all tasks as text, also while the server runs",
		Long: `Write all tasks with their logs and files, one JSON object a line, with a checksum
at the end: to a file that does not exist yet, or to standard output (-). A
server may work with the tasks meanwhile; each task is then as of one moment.
It holds the credentials of webhooks and the keys that sign them: guard it like
the database.`,
		Example: `  parley admin export tasks.jsonl
  parley admin export | gzip > tasks.jsonl.gz`,
		Args: oneFile(true),
	}, func(ctx context.Context, db string, args []string) (err error) {
		r, err := openBeside(db)
		if err != nil {
			return err
		}
		defer done(r, &err)
		var n store.Count
		d, err := a.begin(&audit, db, a2aserver.AuditAdminExport, fileOf(args))
		if err != nil {
			return err
		}
		defer func() { d.end(err, counts(n)...) }()
		if len(args) == 0 || args[0] == "-" {
			n, err = store.Export(ctx, r, a.stdout)
			if err == nil {
				a.note("Exported", "%s, %s", plural(n.Tasks, "task"), plural(n.Entries, "entry"))
			}
			return err
		}
		n, err = exportTo(ctx, r, args[0])
		if err != nil {
			return err
		}
		return a.say("Exported %s, %s to %s", plural(n.Tasks, "task"), plural(n.Entries, "entry"), quote(args[0]))
	})
	audit.registerAs(cmd.Flags(), auditUsage)
	return cmd
}

func counts(n store.Count) []slog.Attr {
	return []slog.Attr{slog.Any("tasks", n.Tasks), slog.Any("entries", n.Entries)}
}

// exportTo writes a new file, durably. One that was cut off has no checksum.
func exportTo(ctx context.Context, src store.Source, name string) (n store.Count, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return n, err
	}
	if n, err = store.Export(ctx, src, f); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(name)
	}
	return n, err
}

func newAdminImport(a *app) *cobra.Command {
	var audit auditFlags
	cmd := a.admin(&cobra.Command{
		Use:   "import [file]",
		Short: "Add the tasks of an export, with the server stopped",
		Long: `Add the tasks of an export, from a file or standard input (-), to the database,
which is made if there is none. First the whole export is checked: if it is
damaged, or a task is there already and not the same in everything, nothing is
changed. Tasks that were at work go on when the directory is served. An import
that was cut off is run again.`,
		Example: `  parley admin import --data /var/lib/parley tasks.jsonl
  gunzip < tasks.jsonl.gz | parley admin import`,
		Args: oneFile(true),
	}, func(ctx context.Context, db string, args []string) (err error) {
		in, err := a.importFrom(args, filepath.Dir(db))
		if err != nil {
			return err
		}
		defer in.Close()
		st, err := openOrMake(db, false)
		if err != nil {
			return err
		}
		defer done(st, &err)
		var n, there store.Count
		d, err := a.begin(&audit, db, a2aserver.AuditAdminImport, fileOf(args))
		if err != nil {
			return err
		}
		defer func() { d.end(err, counts(n)...) }()
		n, there, err = store.Import(ctx, st, in)
		if err != nil {
			return err
		}
		if there.Tasks > 0 {
			a.note("Note", "%s had been there already", plural(there.Tasks, "task"))
		}
		if there.Other > 0 {
			a.note("Note", "the database has keys of its own to sign webhooks with, and keeps them; receivers that know those of the export refuse what it delivers until they are told")
		}
		return a.say("Imported %s, %s", plural(n.Tasks, "task"), plural(n.Entries, "entry"))
	})
	audit.registerAs(cmd.Flags(), auditUsage)
	return cmd
}

// importFrom opens the export. It is read twice, so standard input goes to a
// file first, beside the database, where there is room and nobody else reads.
func (a *app) importFrom(args []string, dir string) (io.ReadSeekCloser, error) {
	if len(args) > 0 && args[0] != "-" {
		return os.Open(args[0])
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "import.*.part")
	if err != nil {
		return nil, err
	}
	spool := &spooled{f}
	if _, err = io.Copy(f, a.stdin); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		spool.Close()
		return nil, err
	}
	return spool, nil
}

// spooled is a file that goes when it is closed.
type spooled struct{ *os.File }

func (s *spooled) Close() error {
	err := s.File.Close()
	os.Remove(s.Name())
	return err
}
