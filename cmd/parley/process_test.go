package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is the real program in a process of its own, for tests that do to it
// what scripts cannot.
type process struct {
	*exec.Cmd
	t        *testing.T
	out, err transcript
	ended    chan struct{} // closed when it has ended
	addr     string        // of a server

	tools // of the directory it runs in
}

// tools start processes in a directory.
type tools struct{ dir, bin string }

func newTools(t *testing.T) tools {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "parley")
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	return tools{dir: t.TempDir(), bin: bin}
}

// start runs parley; what has not ended by then is killed with the test. before
// is shell code that comes first, such as a ulimit; "" means none.
func (k tools) start(t *testing.T, before string, args ...string) *process {
	t.Helper()
	p := &process{t: t, ended: make(chan struct{}), tools: k}
	p.Cmd = exec.Command(k.bin, args...)
	if before != "" {
		p.Cmd = exec.Command("sh", append([]string{"-c", before + ` && exec "$0" "$@"`, k.bin}, args...)...)
	}
	p.Dir = k.dir
	p.Env = append(os.Environ(), "HOME="+k.dir, noLinger+"=atexit_sleep_ms=0")
	p.Stdout, p.Stderr = &p.out, &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%s\n[out]\n%s[err]\n%s", strings.Join(args, " "), p.out.String(), p.err.String())
		}
	})
	return p
}

// serve starts a server on a free port and waits until it is ready.
func (k tools) serve(t *testing.T, before string, args ...string) *process {
	t.Helper()
	p := k.start(t, before, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", "data", "--log-format", "text"}, args...)...)
	p.await(&p.out, `Stop  `)
	p.addr = address.FindStringSubmatch(p.out.String())[1]
	p.awaitReadiness(http.StatusOK, `^ok$`)
	return p
}

// run runs parley to its end and returns its outputs and exit code.
func (k tools) run(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	p := k.start(t, "", args...)
	code = p.exit()
	return p.out.String(), p.err.String(), code
}

// patience is how long a test waits for another process.
const patience = 2 * time.Minute

// exit waits for the end and returns the exit code; -1: by a signal.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%v does not end", p.Args)
	}
	return p.ProcessState.ExitCode()
}

// await waits until an output of p matches and returns the first group of the
// match, or all of it.
func (p *process) await(w *transcript, pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(`(?m)` + pattern)
	over := time.After(patience)
	for ended := false; ; {
		text, grown := w.look()
		if m := re.FindStringSubmatch(text); m != nil {
			return m[len(m)-1]
		}
		if ended {
			p.t.Fatalf("%v ended without %s", p.Args, pattern)
		}
		select {
		case <-grown:
		case <-p.ended: // then all of the output is there
			ended = true
		case <-over:
			p.t.Fatalf("%v: no %s", p.Args, pattern)
		}
	}
}

// awaits is closed when an output of p matches.
func (p *process) awaits(w *transcript, pattern string) <-chan struct{} {
	re, seen := regexp.MustCompile(`(?m)`+pattern), make(chan struct{})
	go func() {
		for {
			text, grown := w.look()
			if re.MatchString(text) {
				close(seen)
				return
			}
			select {
			case <-grown:
			case <-p.ended:
				return
			}
		}
	}()
	return seen
}

func (p *process) tell(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// awaitReadiness asks until the answer is as wanted.
func (p *process) awaitReadiness(status int, reason string) {
	p.t.Helper()
	re := regexp.MustCompile(reason)
	for over := time.Now().Add(patience); time.Now().Before(over); {
		if got, why := p.readiness(); got == status && re.MatchString(why) {
			return
		}
	}
	p.t.Fatalf("%v: not %d %s", p.Args, status, reason)
}

// readiness is what /readyz of a server says.
func (p *process) readiness() (status int, reason string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/readyz", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

// transcript is an output that can be waited for.
type transcript struct {
	mu    sync.Mutex // protects the fields below
	text  strings.Builder
	grown chan struct{} // closed and replaced by each write; nil: nobody waits
}

func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grown != nil {
		close(w.grown)
		w.grown = nil
	}
	return w.text.Write(b)
}

// look returns what there is, and what is closed when there is more.
func (w *transcript) look() (string, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grown == nil {
		w.grown = make(chan struct{})
	}
	return w.text.String(), w.grown
}

func (w *transcript) String() string {
	text, _ := w.look()
	return text
}
