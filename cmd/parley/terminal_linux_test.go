package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/test/fixtures"
)

// typed starts parley at a terminal of 80 columns.
func (k tools) typed(t *testing.T, env []string, args ...string) *fixtures.Terminal {
	t.Helper()
	cmd := exec.Command(k.bin, args...)
	cmd.Dir = k.dir
	cmd.Env = append(append(os.Environ(), "HOME="+k.dir, noLinger+"=atexit_sleep_ms=0", "TERM=xterm", "NO_COLOR="), env...)
	return fixtures.StartTerminal(t, cmd, 80)
}

// What a person at a terminal sees: text in no color, lines of ours in one, and no
// field form. With NO_COLOR the text is indented.
func TestATerminalShowsTextThatFlows(t *testing.T) {
	k := newTools(t)
	url := "http://" + k.serve(t, "").addr
	got, code := k.typed(t, nil, "send", "-a", url, "--stream", "stream 2 1").Exit()
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	want := regexp.MustCompile("^\x1b\\[2martifact \x1b\\[0mstream\r\nchunk 1\r\nchunk 2\r\n\x1b\\[32m● completed\x1b\\[0m\x1b\\[2m · task [0-9a-f-]{36}\x1b\\[0m\r\n" +
		"\x1b\\[2mcontinue: parley send -a .* --context-id [0-9a-f-]{36} \"<message>\"\x1b\\[0m\r\n$")
	if !want.MatchString(got) {
		t.Errorf("shows %q", got)
	}
	got, _ = k.typed(t, []string{"NO_COLOR=1"}, "send", "-a", url, "echo ● completed").Exit()
	if strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "artifact echo\r\n  ● completed\r\n● completed · task ") {
		t.Errorf("without colors shows %q", got)
	}
	got, _ = k.typed(t, nil, "send", "-a", url, "-o", "text", "echo hello").Exit()
	if strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "Task ID: ") {
		t.Errorf("-o text shows %q", got)
	}
}

// A server at a terminal shows a line for each call, and says in words how it ended.
func TestAServerAtATerminal(t *testing.T) {
	k := newTools(t)
	p := k.typed(t, nil, "serve", "--listen", "127.0.0.1:0", "--ephemeral")
	banner := p.Await(`Stop  .*\n`)
	url := regexp.MustCompile(`http://\S+`).FindString(banner)
	if !regexp.MustCompile(`Console    ` + url + `/console/open\?token=[0-9a-f-]{36}\r\n`).MatchString(banner) {
		t.Errorf("no link to the console in\n%s", banner)
	}
	if _, errs, code := k.run(t, "send", "-a", url, "echo hello"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	p.Await(`\d\d:\d\d:\d\d  \S+ +SendStreamingMessage +[0-9a-f-]{36} +completed .*\r\n`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 0 || !strings.HasSuffix(got, "stopped\r\n") {
		t.Errorf("%d, %q", code, got)
	}
}

// A2ACLI_CHAT_001 at a terminal: a question is answered, Ctrl-C cancels the turn,
// Ctrl-D leaves and says how to continue, and the lines are kept for nobody else. A line
// longer than the terminal wraps.
func TestChatAtATerminal(t *testing.T) {
	k := newTools(t)
	url := "http://" + k.serve(t, "").addr
	p := k.typed(t, nil, "chat", "-a", url)
	p.Await(`> $`)
	p.Type("ask Where?\r")
	p.Await(`answer> $`)
	p.Type("Berlin\r")
	p.Await(`(?s)artifact .{1,8}answer\r\nBerlin\r\n.*completed.*> $`)
	p.Type("stream 1000 100\r")
	p.Await(`chunk 2\r\n`)
	p.Type("\x03")
	p.Await(`(?s)canceling task.*● canceled.*> $`)
	p.Type(" secret\r")
	p.Await(`(?s)artifact .{1,8}echo\r\n secret\r\n.*> $`)
	long := " begin " + strings.Repeat("long ", 20)
	p.Type(long)
	p.Await("> " + long + "[^\n]*$")
	p.Type("\r")
	p.Await(`● completed.*[^a-z]> $`)
	p.Type("\x04")
	if got, code := p.Exit(); code != 0 || !regexp.MustCompile(`\r\ncontinue: parley chat -a `+url+` --context-id [0-9a-f-]{36}\r\n$`).MatchString(got) {
		t.Errorf("%d, %q", code, got)
	}
	p = k.typed(t, []string{"TERM=dumb"}, "chat", "-a", url, "--no-history")
	p.Await(`> $`)
	p.Type("hello\r")
	p.Await(`(?s)● completed.*> $`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 130 || !strings.HasSuffix(got, "\r\nError: interrupted\r\n") {
		t.Errorf("%d, %q", code, got)
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

// A failure on a terminal says what went wrong and what to do, and its code behind that;
// where standard error is a file it has the form for programs.
func TestAFailureAtATerminal(t *testing.T) {
	k := newTools(t)
	got, code := k.typed(t, []string{"NO_COLOR=1"}, "srve").Exit()
	if want := "Error: unknown command \"srve\" for \"parley\"\r\nHint: did you mean parley serve?\r\n"; got != want || code != 2 {
		t.Errorf("%d, %q", code, got)
	}
	got, code = k.typed(t, []string{"NO_COLOR=1"}, "send", "-a", "127.0.0.1:1", "hello").Exit()
	if !strings.HasPrefix(got, "Error: agent card") || !strings.Contains(got, " [A2ACLI_ERR_UNREACHABLE]\r\nHint: ") || code != 3 {
		t.Errorf("%d, %q", code, got)
	}
	got, _ = k.typed(t, nil, "send", "-o", "text", "-a", "127.0.0.1:1", "hello").Exit()
	if !strings.HasPrefix(got, "Error: A2ACLI_ERR_UNREACHABLE: ") {
		t.Errorf("with -o text %q", got)
	}
}

// While an agent works, the line that counts the seconds has its last word.
func TestAWaitAtATerminalShowsProgress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := l.Addr().String()
	l.Close()
	k := newTools(t)
	url := "http://" + k.serve(t, "", "--http", "http://"+unused+"/").addr
	p := k.typed(t, []string{"NO_COLOR=1"}, "send", "-a", url, "hello")
	p.Await(`working: the service cannot be reached; retry.* · \d+s`)
	p.Type("\x03")
	got, code := p.Exit()
	if !regexp.MustCompile(`Error: interrupted; task [0-9a-f-]{36} \(context [0-9a-f-]{36}\) continues, last seen as TASK_STATE_WORKING\r\nHint: parley task get -a \S+ --wait `).MatchString(got) || code != 130 {
		t.Errorf("%d, %q", code, got)
	}
}

// The terminal shows that a card, or an MCP client, is waited for.
func TestATerminalShowsWhatIsWaitedFor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // which never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	k := newTools(t)
	p := k.typed(t, []string{"NO_COLOR=1"}, "send", "-a", l.Addr().String(), "hello")
	p.Await(`waiting for the agent's card · \d+s`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 130 || !strings.HasSuffix(got, "Error: interrupted\r\n") {
		t.Errorf("%d, %q", code, got)
	}
	p = k.typed(t, []string{"NO_COLOR=1"}, "mcp", "-a", k.serve(t, "").addr)
	p.Await(`Note: waiting for MCP on standard input: .*\r\n`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 0 {
		t.Errorf("%d, %q", code, got)
	}
}

// While a connection is lost, the line that counts the seconds does not say that the agent
// is at work.
func TestALostConnectionAtATerminal(t *testing.T) {
	k := newTools(t)
	s := k.serve(t, "")
	p := k.typed(t, []string{"NO_COLOR=1"}, "send", "-a", "http://"+s.addr, "sleep 60")
	p.Await(`working: sleeping 60 seconds · task [0-9a-f-]{36} · \d+s`)
	s.tell(syscall.SIGKILL)
	p.Await(`Note: connection lost; trying again \(task [0-9a-f-]{36}\)\r\n`)
	p.Await(`connection lost; trying again \(task [0-9a-f-]{36}\) · \d+s`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 130 {
		t.Errorf("%d, %q", code, got)
	}
}

// A password that is typed is not shown, and is asked for twice.
func TestAPasswordIsNotShown(t *testing.T) {
	k := newTools(t)
	p := k.typed(t, nil, "key", "password", "anna")
	p.Await(`Password of anna: $`)
	p.Type("correct horse\r")
	p.Await(`Once more: $`)
	p.Type("correct horse\r")
	got, code := p.Exit()
	if code != 0 || strings.Contains(got, "horse") || !strings.Contains(got, "\nanna:$2") {
		t.Errorf("%d, %q", code, got)
	}
	p = k.typed(t, nil, "key", "password", "anna")
	p.Await(`Password of anna: $`)
	p.Type("correct horse\r")
	p.Await(`Once more: $`)
	p.Type("battery\r")
	if got, code := p.Exit(); code != 2 || !strings.Contains(got, "the two passwords differ") {
		t.Errorf("%d, %q", code, got)
	}
	p = k.typed(t, nil, "key", "password", "anna")
	p.Await(`Password of anna: $`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 130 || !strings.HasSuffix(got, " interrupted\r\n") {
		t.Errorf("%d, %q", code, got)
	}
	p = k.typed(t, nil, "context", "add", "prod", "https://agents.example.org", "--api-key", "-")
	p.Await(`Value of --api-key: $`)
	p.Type("\x03")
	if got, code := p.Exit(); code != 130 || !strings.HasSuffix(got, " interrupted; nothing was added\r\n") {
		t.Errorf("%d, %q", code, got)
	}
}

// A browser on another machine cannot come back: the address that it ended at is pasted.
func TestASignInWithAPastedAddress(t *testing.T) {
	k := newTools(t)
	agent, err := startFake(t.Context(), "oidc", filepath.Join(t.TempDir(), "requests"))
	if err != nil {
		t.Fatal(err)
	}
	defer agent.server.Close()
	p := k.typed(t, nil, "auth", "login", "-a", agent.url, "--client-id", "cli", "--no-browser", "--grant", "code")
	asked := regexp.MustCompile(`Open: (\S+)`).FindStringSubmatch(p.Await(`(?s)Open: \S+\r\n.*paste its address here, and press Enter\r\n`))[1]
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(asked)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	p.Type("http://example.org/\r")
	p.Await(`the address has to begin with http://127\.0\.0\.1:\d+/`)
	p.Type(res.Header.Get("Location") + "\r")
	if got, code := p.Exit(); code != 0 || !strings.Contains(got, "Client: cli") {
		t.Errorf("%d, %q", code, got)
	}
}
