package a2aserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// AuditFile is an audit log in a file: one JSON object a line, whose time and
// event come first. Lines are only ever appended, each by one write, so that
// several processes may have the same file. The file is made with mode 0600.
//
// Whoever writes a record waits until the operating system has it; it is not
// synced. When that fails, as on a full disk, calls go on: an agent that stops
// because of its log would hand its switch to whoever fills the disk. The failure
// is logged once, and the first record that can be written again is AuditLost,
// with the number of those that are missing.
//
// Its methods may be called by many goroutines at once.
type AuditFile struct {
	// set by OpenAudit, then constant
	path    string
	trouble *slog.Logger
	log     *slog.Logger

	mu   sync.Mutex // protects the fields below
	f    io.WriteCloser
	lost int64 // records that could not be written since the last one that was
	torn bool  // the file ends within a line
}

// OpenAudit opens the audit log at path, or begins one. trouble hears of what
// cannot be written; nil discards that. The caller closes the file.
func OpenAudit(path string, trouble *slog.Logger) (*AuditFile, error) {
	if trouble == nil {
		trouble = slog.New(slog.DiscardHandler)
	}
	a := &AuditFile{path: path, trouble: trouble}
	f, err := a.open()
	if err != nil {
		return nil, err
	}
	a.f = f
	a.log = slog.New(AuditHandler(a))
	return a, nil
}

func (a *AuditFile) open() (*os.File, error) {
	f, err := os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return f, nil
}

// AuditHandler returns a handler that writes records to w as an AuditFile does,
// one Write each.
func AuditHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case at.Key == slog.LevelKey:
			return slog.Attr{} // denied says it
		case at.Key == slog.MessageKey:
			at.Key = "event"
		case at.Key == slog.TimeKey:
			at.Value = slog.TimeValue(at.Value.Time().UTC().Truncate(time.Microsecond))
		}
		return at
	}})
}

// Logger returns the log, for Options.Audit.
func (a *AuditFile) Logger() *slog.Logger { return a.log }

// Event records something else than a call: see AuditKeyCreated and the others.
func (a *AuditFile) Event(event string, attrs ...slog.Attr) {
	a.log.LogAttrs(context.Background(), slog.LevelInfo, event, attrs...)
}

// Write appends one record. It reports success also where there is none, for
// that is dealt with.
func (a *AuditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost > 0 {
		head := fmt.Sprintf(`{"time":%q,"event":%q,"lost":%d}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), AuditLost, a.lost)
		if a.torn {
			head = "\n" + head
		}
		if err := a.appendLocked([]byte(head)); err != nil {
			a.lost++
			return len(line), nil
		}
		a.trouble.Info("the audit log can be written again", "lost", a.lost)
		a.lost = 0
	}
	if err := a.appendLocked(line); err != nil {
		if a.lost++; a.lost == 1 {
			a.trouble.Error("the audit log cannot be written: calls are served and not recorded", "error", err)
		}
	}
	return len(line), nil
}

func (a *AuditFile) appendLocked(line []byte) error {
	n, err := a.f.Write(line)
	if n > 0 {
		a.torn = n < len(line)
	}
	return err
}

// Reopen goes on in a new file at the path, after somebody has moved the old one
// away, as logrotate does. Where that fails the old one stays in use.
func (a *AuditFile) Reopen() error {
	f, err := a.open()
	if err != nil {
		return err
	}
	a.mu.Lock()
	old := a.f
	a.f, a.torn = f, false
	a.mu.Unlock()
	a.Event(AuditReopened)
	return old.Close()
}

// Close ends the log; records that come later are lost.
func (a *AuditFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}
