package main

import (
	"cmp"
	"context"
	"log/slog"
	"os/user"

	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// audited does work that changes the tasks of a server and then records it, with what it was
// about, the counts and the error: what was done before an error stays done. If the audit log
// cannot be opened, nothing is done.
func (a *app) audited(f *serve.AuditFlags, db *database.Location, event string, what []slog.Attr, do func() (counts []slog.Attr, err error)) error {
	log, err := a.auditBeside(f, db)
	if err != nil {
		return err
	}
	counts, err := do()
	attrs := append(serve.Known(what...), counts...)
	attrs = append(attrs, serve.Known(slog.String("by", operator()))...)
	if err != nil {
		attrs = append(attrs, slog.String("error", plain.Line(err.Error())))
	}
	log.Event(event, attrs...)
	_ = log.Close() // write errors are logged
	return err
}

// fileOf returns the attribute of a named file, or of standard input or output.
func fileOf(args []string) []slog.Attr {
	if len(args) == 0 {
		args = []string{"-"}
	}
	return []slog.Attr{slog.String("file", args[0])}
}

const auditUsage = "record the command in this `file` of JSON lines; - is standard error, none disables it (default: the log of the server that runs with the database, or else " + serve.AuditName + " in --data)"

// auditBeside opens the audit log of a database.
func (a *app) auditBeside(f *serve.AuditFlags, db *database.Location) (*serve.AuditLog, error) {
	if l, err := admin.ReadLocal(db.AdminFile()); err == nil { // otherwise no server runs here
		f.Path = cmp.Or(f.Path, l.Audit)
	}
	return f.Open(db.Data, true, a.stderr, slog.New(warnings{a.stderr}))
}

// warnings is a log that shows warnings and errors to the user at the terminal.
type warnings struct{ out *plain.Writer }

func (w warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (w warnings) WithAttrs([]slog.Attr) slog.Handler           { return w }
func (w warnings) WithGroup(string) slog.Handler                { return w }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(at slog.Attr) bool {
		text += ": " + at.Value.String()
		return true
	})
	w.out.Note("Warning", "%s", text)
	return nil
}

// operator names the user who runs this program.
func operator() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
