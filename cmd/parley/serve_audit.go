package main

import (
	"context"
	"crypto/x509"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
)

// Values of --audit-log that are no files.
const (
	auditStderr = "-"
	auditNone   = "none"
)

// auditName is the audit log in a directory of --data.
const auditName = "audit.jsonl"

// auditFlags say where it is recorded who did what.
type auditFlags struct{ path string }

func (f *auditFlags) register(fs *pflag.FlagSet) {
	f.registerAs(fs, "append who did what, and who was not let, to a `file` of JSON lines, which SIGHUP opens anew; - is standard error, none is no log (default "+auditName+" in --data where callers are authenticated, else none)")
}

func (f *auditFlags) registerAs(fs *pflag.FlagSet, usage string) {
	fs.StringVar(&f.path, "audit-log", "", usage)
}

// auditLog is what --audit-log leads to. Its zero value records nothing.
type auditLog struct {
	log  *slog.Logger
	file *a2aserver.AuditFile // nil if it is no file
}

// open opens the log. on says whether there is one where no flag says so.
func (f *auditFlags) open(data string, on bool, stderr *redactor, log *slog.Logger) (*auditLog, error) {
	path := f.path
	if path == "" {
		path = auditNone
		if on {
			path = filepath.Join(data, auditName)
		}
	}
	switch path {
	case auditNone:
		return &auditLog{}, nil
	case auditStderr:
		return &auditLog{log: slog.New(a2aserver.AuditHandler(stderr))}, nil
	}
	file, err := a2aserver.OpenAudit(path, log)
	if err != nil {
		return nil, newFailure(codeServe, err.Error(), err).withHint("--audit-log names another file; none does without")
	}
	return &auditLog{file.Logger(), file}, nil
}

func (l *auditLog) event(name string, attrs ...slog.Attr) {
	if l.log != nil {
		l.log.LogAttrs(context.Background(), slog.LevelInfo, name, attrs...)
	}
}

// reopen opens a file anew, as SIGHUP asks for.
func (l *auditLog) reopen(log *slog.Logger) {
	if l.file == nil {
		return
	}
	if err := l.file.Reopen(); err != nil {
		log.Error("the audit log cannot be opened anew: the old file stays in use", "err", err)
	}
}

// reloaded records that a certificate was read anew, or could not be used.
func (l *auditLog) reloaded(leaf *x509.Certificate, err error) {
	if err != nil {
		l.event(a2aserver.AuditTLSReloaded, slog.String("error", err.Error()))
		return
	}
	l.event(a2aserver.AuditTLSReloaded, slog.String("subject", cleanLine(leaf.Subject.String())), slog.String("expires", dateOf(leaf.NotAfter)))
}

// signed records which keys sign the cards of a server that starts.
func (l *auditLog) signed(keys []*auth.Key) {
	if len(keys) == 0 {
		return
	}
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID()
	}
	l.event(a2aserver.AuditCardSigned, slog.String("kids", strings.Join(ids, " ")))
}

func (l *auditLog) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// summary is what a server that starts says of itself in the log.
func (f *serveFlags) summary(b *banner) []slog.Attr {
	limits := []any{}
	add := func(name string, value any, set bool) {
		if set {
			limits = append(limits, slog.Any(name, value))
		}
	}
	n := &f.limits
	add("rate", n.rate, n.rate > 0)
	add("burst", n.burst, n.burst > 0)
	add("streams", n.streams, n.streams > 0)
	add("running", n.running, n.running > 0)
	add("running_per_caller", n.runningEach, n.runningEach > 0)
	add("task_time", n.wall.Round(time.Millisecond).String(), n.wall > 0)
	add("task_size", int64(n.task), n.task > 0)
	add("artifact_size", int64(n.artifact), n.artifact > 0)
	add("messages", n.messages, n.messages > 0)
	add("body", int64(n.body), true)
	add("connections", n.connections, n.connections > 0)
	return []slog.Attr{
		slog.String("version", version()),
		slog.String("listen", b.addr.String()),
		slog.Bool("tls", b.tls),
		slog.String("auth", strings.Join(f.auth.names(), ",")),
		slog.Bool("anonymous", !f.auth.any() || f.auth.anonymous),
		slog.Group("limits", limits...),
	}
}
