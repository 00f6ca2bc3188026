package serve

import (
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Values of --audit-log that are not files.
const (
	auditStderr = "-"
	auditNone   = "none"
)

const auditHint = "--audit-log names another file; none does without"

// AuditName is the name of the audit log in the directory of --data.
const AuditName = "audit.jsonl"

// AuditFlags say where the audit log is.
type AuditFlags struct{ Path string }

// Register declares --audit-log.
func (f *AuditFlags) Register(fs *pflag.FlagSet, usage string) {
	fs.StringVar(&f.Path, "audit-log", "", usage)
}

// AuditLog is the log that --audit-log names. Its zero value records nothing.
type AuditLog struct {
	log  *slog.Logger
	file *a2aserver.AuditFile // nil if the log is not a file
	path string               // of the file
}

// Open opens the log. on says whether there is one without a flag. The caller closes
// it.
func (f *AuditFlags) Open(data string, on bool, stderr io.Writer, log *slog.Logger) (*AuditLog, error) {
	path := f.Path
	if path == "" {
		path = auditNone
		if on {
			path = filepath.Join(data, AuditName)
		}
	}
	switch path {
	case auditNone:
		return &AuditLog{}, nil
	case auditStderr:
		return &AuditLog{log: slog.New(a2aserver.AuditHandler(stderr))}, nil
	}
	file, err := a2aserver.OpenAudit(path, log)
	if err != nil {
		return nil, failure.New(failure.CodeServe, err.Error(), err).WithHint(auditHint)
	}
	return &AuditLog{file.Logger(), file, path}, nil
}

// where returns the --audit-log for a command that adds to this log; "" if there is
// none.
func (l *AuditLog) where() string {
	switch {
	case l.file != nil:
		return absolute(l.path)
	case l.log != nil:
		return auditStderr
	}
	return ""
}

// Event writes a record.
func (l *AuditLog) Event(name string, attrs ...slog.Attr) {
	if l.log != nil {
		l.log.LogAttrs(context.Background(), slog.LevelInfo, name, attrs...)
	}
}

// Known returns the attributes that have a value: texts that are not empty.
func Known(attrs ...slog.Attr) []slog.Attr {
	return slices.DeleteFunc(slices.Clone(attrs), func(at slog.Attr) bool { return at.Value.Kind() == slog.KindString && at.Value.String() == "" })
}

// OfKey returns the attributes for an API key that by has changed.
func OfKey(k *auth.APIKey, by string) []slog.Attr {
	return Known(slog.String("key", k.ID), slog.String("name", k.Name), slog.String("subject", k.Subject), slog.String("tenant", k.Tenant),
		slog.String("scopes", strings.Join(k.Scopes, " ")), slog.String("expires", plain.Date(k.Expires)), slog.String("by", by))
}

// reopen opens the file again, on SIGHUP.
func (l *AuditLog) reopen(log *slog.Logger) {
	if l.file == nil {
		return
	}
	if err := l.file.Reopen(); err != nil {
		log.Error("the audit log cannot be reopened: the old file stays in use", "error", err)
	}
}

// reloaded records that a certificate was reloaded, or could not be used.
func (l *AuditLog) reloaded(leaf *x509.Certificate, err error) {
	if err != nil {
		l.Event(a2aserver.AuditTLSReloaded, slog.String("error", err.Error()))
		return
	}
	l.Event(a2aserver.AuditTLSReloaded, slog.String("subject", plain.Line(leaf.Subject.String())), slog.String("expires", plain.Date(leaf.NotAfter)))
}

// signed records which keys sign the cards.
func (l *AuditLog) signed(keys []*auth.Key) {
	if len(keys) == 0 {
		return
	}
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID()
	}
	l.Event(a2aserver.AuditCardSigned, slog.String("kids", strings.Join(ids, " ")))
}

// Close closes the file of the log.
func (l *AuditLog) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// summary returns the attributes that describe a starting server in the audit log.
func (f *flags) summary(h *Host) []slog.Attr {
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
	add("task_size", n.task, n.task > 0)
	add("artifact_size", n.artifact, n.artifact > 0)
	add("messages", n.messages, n.messages > 0)
	add("body", n.body, true)
	add("connections", n.connections, n.connections > 0)
	methods, _ := f.auth.methods()
	return []slog.Attr{
		slog.String("version", h.env.Version),
		slog.String("listen", h.addr.String()),
		slog.Bool("tls", f.tls.given()),
		slog.String("auth", strings.Join(methods, ",")),
		slog.Bool("anonymous", !f.auth.any() || f.auth.anonymous),
		slog.Group("limits", limits...),
	}
}
