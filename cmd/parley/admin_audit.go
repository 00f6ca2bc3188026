package main

import (
	"log/slog"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// deed is a command's change to the tasks of a server, for the audit log. It is recorded when
// the command ends, even if it failed or was interrupted, because what was done by then stays
// done.
type deed struct {
	log   *serve.AuditLog
	event string
	what  []slog.Attr
}

// begin opens the audit log of a database for a command that is about to do what the attributes
// say. If it cannot be opened, the command must do nothing.
func (a *app) begin(f *serve.AuditFlags, db *database.Location, event string, what ...slog.Attr) (*deed, error) {
	log, err := a.auditBeside(f, db)
	if err != nil {
		return nil, err
	}
	return &deed{log, event, what}, nil
}

// end records the deed with its result.
func (d *deed) end(err error, counts ...slog.Attr) {
	attrs := append(serve.Known(d.what...), counts...)
	attrs = append(attrs, serve.Known(slog.String("by", operator()))...)
	if err != nil {
		attrs = append(attrs, slog.String("error", plain.Line(err.Error())))
	}
	d.log.Event(d.event, attrs...)
	_ = d.log.Close() // write errors are logged
}

// fileOf returns the attribute of a named file, or of standard input or output.
func fileOf(args []string) slog.Attr {
	if len(args) == 0 {
		return slog.String("file", "-")
	}
	return slog.String("file", args[0])
}
