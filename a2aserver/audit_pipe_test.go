//go:build unix

package a2aserver

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A named pipe as the audit log: a server starts without waiting for a reader, and a
// reader that stops holds up no calls.
func TestAuditInAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := OpenAudit(path, nil); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("nobody reads the pipe: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	trouble := newLines()
	a, err := OpenAudit(path, slog.New(slog.NewJSONHandler(trouble, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := New(agreeable{}, testCard(), &Options{Audit: a.Logger()})
	began, calls := time.Now(), 0
	for trouble.String() == "" && calls < 100_000 { // until the pipe is full
		do(s, http.MethodPost, "/", getTask("1"))
		calls++
	}
	for range 100 {
		if w := do(s, http.MethodPost, "/", getTask("1")); w.Code != http.StatusOK {
			t.Fatalf("answered with %d", w.Code)
		}
	}
	if d := time.Since(began); d > 30*time.Second { // of which a second waits
		t.Errorf("calls took %s", d)
	}
	// The reader is back: it gets what the pipe held, and is told how much is missing.
	read := func() string {
		var b strings.Builder
		_ = reader.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = io.Copy(&b, reader)
		return b.String()
	}
	first := read()
	do(s, http.MethodPost, "/", getTask("1"))
	if got := first + read(); !strings.Contains(got, "\n{") || !strings.Contains(got, `"`+AuditLost+`","lost":101`) || !strings.HasSuffix(got, "\n") {
		t.Errorf("the reader has %.300q … %q", got, got[max(0, len(got)-600):])
	}
}
