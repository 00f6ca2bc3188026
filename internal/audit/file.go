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

// File is an audit log in a file: one JSON object a line, whose time and
// event come first. Lines are only ever appended, each by one write, so that
// several processes may have the same file. The file is made with mode 0600.
//
// Whoever writes a record waits until the operating system has it; it is not
// synced. When that fails, as on a full disk, calls go on: an agent that stops
// because of its log would hand its switch to whoever fills the disk. The failure
// is logged once, and the first record that can be written again is Lost,
// with the number of those that are missing. The file may be a named pipe: a reader
// that stops is waited for once, for a second, and then fails as a full disk does.
//
// Its methods may be called by many goroutines at once.
type File struct {
	// set by Open, then constant
	path     string
	failures *slog.Logger
	log      *slog.Logger

	mu     sync.Mutex // protects the fields below
	f      io.WriteCloser
	waits  bool           // writes may have to wait for a reader
	lost   int64          // records that could not be written since the last one that was
	losses *metrics.Count // all that could not; nil: they are not counted
	torn   bool           // the file ends within a line
}

// patience is how long a record waits for a reader; lossPatience, while records are
// being lost.
const (
	patience     = time.Second
	lossPatience = time.Millisecond
)

// Open opens the audit log at path, or begins one. failures hears of what
// cannot be written; nil discards that. The caller closes the file.
func Open(path string, failures *slog.Logger) (*File, error) {
	a := &File{path: path, failures: cmp.Or(failures, slog.New(slog.DiscardHandler))}
	if _, err := a.open(); err != nil {
		return nil, err
	}
	a.log = slog.New(Handler(a))
	return a, nil
}

// open puts the file at the path in the place of the one before, which it returns.
func (a *File) open() (old io.Closer, err error) {
	// A pipe that nobody reads is an error, not something to wait for.
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

// endsWithinLine reports whether the last record of a file was cut off, by a crash or
// a full disk: the next one needs a line of its own.
func endsWithinLine(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // it can be appended to, and not read
	}
	defer f.Close()
	last := []byte{'\n'}
	if end, err := f.Seek(-1, io.SeekEnd); err == nil && end >= 0 {
		_, _ = f.Read(last)
	}
	return last[0] != '\n'
}

// Handler returns a handler that writes records to w as an File does,
// one Write each. Texts that have anything that does not print, as terminals act on
// it, are quoted.
func Handler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case at.Key == slog.LevelKey:
			return slog.Attr{} // denied says it
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

// Logger returns the log, for Options.Audit.
func (a *File) Logger() *slog.Logger { return a.log }

// Event records something else than a call: see KeyCreated and the others.
func (a *File) Event(event string, attrs ...slog.Attr) {
	a.log.LogAttrs(context.Background(), slog.LevelInfo, event, attrs...)
}

// Measure counts records that could not be written from now on; nil ends that.
func (a *File) Measure(p metric.MeterProvider) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.losses = metrics.New(p).Counter(metrics.AuditLost)
}

// Write appends one record. It reports success also where there is none, for
// that is dealt with.
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

// appendLocked writes a record, on a line of its own, and returns how much of it
// there is now.
func (a *File) appendLocked(record []byte) (int, error) {
	before := 0
	if a.torn {
		record, before = append([]byte{'\n'}, record...), 1
	}
	if f, ok := a.f.(*os.File); ok && a.waits {
		wait := patience
		if a.lost > 0 {
			wait = lossPatience // one call pays for a reader that has stopped, not all
		}
		_ = f.SetWriteDeadline(time.Now().Add(wait)) // a device may have none
	}
	n, err := a.f.Write(record)
	if n > 0 {
		a.torn = record[n-1] != '\n'
	}
	return max(0, n-before), err
}

// Reopen goes on in a new file at the path, after somebody has moved the old one
// away, as logrotate does. Where that fails the old one stays in use.
func (a *File) Reopen() error {
	old, err := a.open()
	if err != nil {
		return err
	}
	a.Event(Reopened)
	return old.Close()
}

// Close ends the log; records that come later are lost.
func (a *File) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}
