//go:build unix

package agent

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/scarce"
)

// scarceEnv is set in a process of its own that has few file descriptors.
const scarceEnv = "PARLEY_TEST_SCARCE"

// A command that cannot be started, or whose files cannot be opened, because the
// process has no file descriptor left, waits until there is one: its task does not
// fail.
func TestExecWaitsForDescriptors(t *testing.T) {
	if os.Getenv(scarceEnv) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), scarceEnv+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	few := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	few.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	waits := make(chan struct{}, 1)
	log := slog.New(&watcher{slog.DiscardHandler, "a command cannot start: no file descriptors, processes or memory left; trying again", waits})

	for mode, script := range map[ExecMode]string{ExecPlain: "cat", ExecLines: `read line; echo '{"type":"reply","text":"done"}'`} {
		release := takeAll(t)
		done := begin(t, t.Context(), Exec([]string{"sh", "-c", script}, &ExecOptions{Mode: mode, Logger: log}), newHost("hello"))
		select {
		case <-waits:
		case err := <-done:
			t.Fatalf("mode %v: it did not wait: %v", mode, err)
		}
		release()
		if err := <-done; err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
	}

	// The end of waiting is that of the task.
	release := takeAll(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := begin(t, ctx, Exec([]string{"cat"}, &ExecOptions{Logger: log}), newHost("hello"))
	<-waits
	cancel(ErrCanceled)
	if err := <-done; err != ErrCanceled {
		t.Errorf("a canceled task: %v", err)
	}
	release()

	// The time that a command may take begins with the command.
	release = takeAll(t)
	done = begin(t, t.Context(), Exec([]string{"sleep", "1000"}, &ExecOptions{Timeout: 50 * time.Millisecond, Logger: log}), newHost("hello"))
	<-waits
	time.AfterFunc(200*time.Millisecond, release) // in which it must not have failed
	start := time.Now()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Errorf("a slow command: %v", err)
	} else if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("its time was up after %v, before it began", took)
	}

	// Files that come, and files that it left.
	release = takeAll(t)
	files := Exec([]string{"cat"}, &ExecOptions{Files: true, FilesDir: dir}).(*command)
	done = begin(t, t.Context(), files, newHost("hello"))
	time.AfterFunc(50*time.Millisecond, release) // too late for a single try; whenever it is, the run goes well
	if err := <-done; err != nil {
		t.Errorf("files that come: %v", err)
	}
	if err := files.Close(); err != nil {
		t.Error(err)
	}
	f := &folders{out: filepath.Join(dir, "out")}
	if err := os.Mkdir(f.out, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.out, "a.txt"), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	release = takeAll(t)
	host := newHost("hello")
	done = begin(t, t.Context(), Func(func(ctx context.Context, turn *Turn) error { return f.collect(ctx, turn, 1<<20) }), host)
	time.AfterFunc(50*time.Millisecond, release)
	if err := <-done; err != nil {
		t.Errorf("files that it left: %v", err)
	}
}

// takeAll opens files until the process has no file descriptor left.
func takeAll(t *testing.T) (release func()) {
	t.Helper()
	var all []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if scarce.Is(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return func() {
		for _, f := range all {
			f.Close()
		}
	}
}

// watcher tells a channel of one kind of record.
type watcher struct {
	slog.Handler
	text string
	seen chan struct{}
}

func (w *watcher) Enabled(context.Context, slog.Level) bool { return true }
func (w *watcher) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w *watcher) Handle(_ context.Context, r slog.Record) error {
	if r.Message == w.text {
		w.seen <- struct{}{}
	}
	return nil
}
