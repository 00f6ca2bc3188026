package main

import (
	"log/slog"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// deed is what a command does to the tasks of a server, for the audit log. It is
// recorded when it is over, also where it failed or was interrupted: what was done so
// far stays done.
type deed struct {
	log   *serve.AuditLog
	event string
	what  []slog.Attr
}

// begin opens the audit log that goes with a database for a command that is about to
// do what the attributes say: where there can be no record, nothing is done.
func (a *app) begin(f *serve.AuditFlags, db *database.Location, event string, what ...slog.Attr) (*deed, error) {
	log, err := a.auditBeside(f, db)
	if err != nil {
		return nil, err
	}
	return &deed{log, event, what}, nil
}

// end records the deed with what came of it.
func (d *deed) end(err error, counts ...slog.Attr) {
	attrs := append(serve.Known(d.what...), counts...)
	attrs = append(attrs, serve.Known(slog.String("by", operator()))...)
	if err != nil {
		attrs = append(attrs, slog.String("error", plain.Line(err.Error())))
	}
	d.log.Event(d.event, attrs...)
	_ = d.log.Close() // what it could not write is logged
}

// fileOf is a file that is named, or standard input or output, as the log has it.
func fileOf(args []string) slog.Attr {
	if len(args) == 0 {
		return slog.String("file", "-")
	}
	return slog.String("file", args[0])
}
