package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// typed starts parley at a terminal of 80 columns; type gives it keys.
func (k tools) typed(t *testing.T, env []string, args ...string) (p *process, keys func(string)) {
	t.Helper()
	p = &process{t: t, ended: make(chan struct{}), tools: k}
	p.Cmd = exec.Command(k.bin, args...)
	p.Dir = k.dir
	p.Env = append(append(os.Environ(), "HOME="+k.dir, noLinger+"=atexit_sleep_ms=0", "TERM=xterm", "NO_COLOR="), env...)
	f, err := pty.StartWithSize(p.Cmd, &pty.Winsize{Rows: 50, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&p.out, f) // ends with an error when the program does
	}()
	go func() {
		_ = p.Wait()
		<-read
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		f.Close()
		if t.Failed() {
			t.Logf("%s\n%q", strings.Join(args, " "), p.out.String())
		}
	})
	return p, func(s string) {
		if _, err := io.WriteString(f, s); err != nil {
			t.Fatal(err)
		}
	}
}

// What a person at a terminal sees: text in no color, lines of ours in one, and no
// field form. With NO_COLOR the text is indented.
func TestATerminalShowsTextThatFlows(t *testing.T) {
	k := newTools(t)
	url := "http://" + k.serve(t, "").addr
	p, _ := k.typed(t, nil, "send", "-a", url, "--stream", "stream 2 1")
	if code := p.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	want := regexp.MustCompile("^\x1b\\[2martifact \x1b\\[0mstream\r\nchunk 1\r\nchunk 2\r\n\x1b\\[32m● completed\x1b\\[0m\x1b\\[2m · task [0-9a-f-]{36}\x1b\\[0m\r\n" +
		"\x1b\\[2mgo on: parley send -a .* --context-id [0-9a-f-]{36} \"<message>\"\x1b\\[0m\r\n$")
	if !want.MatchString(p.out.String()) {
		t.Errorf("shows %q", p.out.String())
	}
	p, _ = k.typed(t, []string{"NO_COLOR=1"}, "send", "-a", url, "echo ● completed")
	p.exit()
	if got := p.out.String(); strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "artifact echo\r\n  ● completed\r\n● completed · task ") {
		t.Errorf("without colors shows %q", got)
	}
	p, _ = k.typed(t, nil, "send", "-a", url, "-o", "text", "echo hello")
	p.exit()
	if got := p.out.String(); strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "Task ID: ") {
		t.Errorf("-o text shows %q", got)
	}
}

// A2ACLI_CHAT_001 at a terminal: a question is answered, Ctrl-C cancels the turn,
// Ctrl-D leaves, and the lines are kept for nobody else.
func TestChatAtATerminal(t *testing.T) {
	k := newTools(t)
	url := "http://" + k.serve(t, "").addr
	p, keys := k.typed(t, nil, "chat", "-a", url)
	p.await(&p.out, `> $`)
	keys("ask Where?\r")
	p.await(&p.out, `answer> $`)
	keys("Berlin\r")
	p.await(&p.out, `(?s)artifact .{1,8}answer\r\nBerlin\r\n.*completed.*> $`)
	keys("stream 1000 100\r")
	p.await(&p.out, `chunk 2\r\n`)
	keys("\x03")
	p.await(&p.out, `(?s)canceling task.*● canceled.*> $`)
	keys(" secret\r")
	p.await(&p.out, `(?s)artifact .{1,8}echo\r\n secret\r\n.*> $`)
	keys("\x04")
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	history := filepath.Join(k.dir, ".config", "a2a-cli", "chat_history")
	st, err := os.Stat(history)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("the history: %v, %v", st, err)
	}
	if lines, err := os.ReadFile(history); err != nil || string(lines) != "ask Where?\nBerlin\nstream 1000 100\n" {
		t.Errorf("the history has %q, %v", lines, err)
	}
}
