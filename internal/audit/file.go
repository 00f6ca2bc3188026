package audit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/parley-a2a/parley/internal/fileowner"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// File is an audit log in a file: one JSON object per line, beginning with time and event.
// Lines are only ever appended, each with one write, so that several processes may share the
// file. The file is created with mode 0600.
//
// A caller that writes a record waits until the operating system has it; it is not synced. If
// the write fails, as on a full disk, calls continue: otherwise anyone who can fill the disk
// could stop the agent. The failure is logged once, and the first record that can be written
// again is Lost, with the number of missing records. The file may be a named pipe: if its
// reader stops, one record waits for it, for a second; then writes fail as on a full disk.
//
// Its methods are safe for concurrent use.
type File struct {
	// set by Open, then constant
	path     string
	failures *slog.Logger
	log      *slog.Logger

	mu     sync.Mutex // protects the fields below
	f      io.WriteCloser
	waits  bool           // writes may have to wait for a reader
	lost   int64          // records lost since the last successful write
	losses *metrics.Count // all lost records; nil: not counted
	torn   bool           // the file ends within a line
}

// patience is how long a record waits for a reader. While records are being lost, it is
// lossPatience.
const (
	patience     = time.Second
	lossPatience = time.Millisecond
)

// Open opens or creates the audit log at path. failures gets reports of records that could
// not be written; nil discards them. The caller closes the file.
func Open(path string, failures *slog.Logger) (*File, error) {
	a := &File{path: path, failures: cmp.Or(failures, slog.New(slog.DiscardHandler))}
	if _, err := a.open(); err != nil {
		return nil, err
	}
	a.log = slog.New(Handler(a))
	return a, nil
}

// open replaces the current file by the one at path, and returns the former.
func (a *File) open() (old io.Closer, err error) {
	// With O_NONBLOCK, a pipe without a reader is an error instead of a wait.
	f, err := fileowner.Open(a.path, filepath.Dir(a.path), os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	torn := info.Mode().IsRegular() && endsWithinLine(a.path)
	a.mu.Lock()
	defer a.mu.Unlock()
	old = a.f
	a.f, a.waits, a.torn = f, !info.Mode().IsRegular(), torn
	return old, nil
}

// endsWithinLine reports whether the last record of a file was cut off, by a crash or a full
// disk. Then the next one must start a new line.
func endsWithinLine(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // it may be appended to, but not read
	}
	defer f.Close()
	last := []byte{'\n'}
	if end, err := f.Seek(-1, io.SeekEnd); err == nil && end >= 0 {
		_, _ = f.Read(last)
	}
	return last[0] != '\n'
}

// Handler returns a handler that writes records to w as a File does, with one Write each. It
// quotes texts that have non-printing characters, because terminals act on these.
func Handler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case at.Key == slog.LevelKey:
			return slog.Attr{} // the attribute denied replaces it
		case at.Key == slog.MessageKey:
			at.Key = "event"
		case at.Key == slog.TimeKey:
			at.Value = slog.TimeValue(at.Value.Time().UTC().Truncate(time.Microsecond))
		case at.Value.Kind() == slog.KindString && !prints(at.Value.String()):
			at.Value = slog.StringValue(strconv.QuoteToASCII(at.Value.String()))
		}
		return at
	}})
}

// Logger returns the log, for a2aserver.Options.Audit.
func (a *File) Logger() *slog.Logger { return a.log }

// Event records an event that is not a call: see KeyCreated and the others.
func (a *File) Event(event string, attrs ...slog.Attr) {
	a.log.LogAttrs(context.Background(), slog.LevelInfo, event, attrs...)
}

// Measure sets the meter for records that cannot be written; nil stops the counting.
func (a *File) Measure(p metric.MeterProvider) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.losses = metrics.New(p).Counter(metrics.AuditLost)
}

// Write appends one record. It reports success even if it fails, because it handles failures
// itself.
func (a *File) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	record := line
	if a.lost > 0 {
		head := fmt.Sprintf(`{"time":%q,"event":%q,"lost":%d}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), Lost, a.lost)
		record = append([]byte(head), line...)
	}
	written, err := a.appendLocked(record)
	if a.lost > 0 && written >= len(record)-len(line) {
		a.failures.Info("the audit log can be written again", "lost", a.lost)
		a.lost = 0
	}
	if err != nil {
		a.losses.Add(context.Background(), 1)
		if a.lost++; a.lost == 1 {
			a.failures.Error("the audit log cannot be written; what happens is not recorded", "error", err)
		}
	}
	return len(line), nil
}

// appendLocked writes a record, on a new line, and returns how many of its bytes were
// written.
func (a *File) appendLocked(record []byte) (int, error) {
	before := 0
	if a.torn {
		record, before = append([]byte{'\n'}, record...), 1
	}
	if f, ok := a.f.(*os.File); ok && a.waits {
		wait := patience
		if a.lost > 0 {
			wait = lossPatience // only one call waits long for a stopped reader
		}
		_ = f.SetWriteDeadline(time.Now().Add(wait)) // devices may not support deadlines
	}
	n, err := a.f.Write(record)
	if n > 0 {
		a.torn = record[n-1] != '\n'
	}
	return max(0, n-before), err
}

// Reopen continues in a new file at the path, after a program such as logrotate has moved the
// old one away. If that fails, the old file stays in use.
func (a *File) Reopen() error {
	old, err := a.open()
	if err != nil {
		return err
	}
	a.Event(Reopened)
	return old.Close()
}

// Close closes the log; later records are lost.
func (a *File) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}
