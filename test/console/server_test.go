package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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

// server is a parley serve.
type server struct {
	t    testing.TB
	args []string
	env  []string
	dir  string
	addr string
	link string // that opens the console
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// newServer returns a server that is not started: change it before you start it.
func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	if chrome == nil {
		t.Skip("there is no Chromium here")
	}
	return &server{t: t, args: args, dir: t.TempDir(), addr: freeAddress(t)}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts a server with the demo agent, or what args say, for one journey.
func serve(t testing.TB, args ...string) *server {
	t.Helper()
	s := newServer(t, args...)
	s.start()
	t.Cleanup(func() { s.end(os.Kill) })
	return s
}

// serveFile starts a server with a parley.yaml.
func serveFile(t testing.TB, yaml string, args ...string) *server {
	t.Helper()
	s := newServer(t, append([]string{"--file", "parley.yaml"}, args...)...)
	if err := os.WriteFile(filepath.Join(s.dir, "parley.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.end(os.Kill) })
	return s
}

// commons are the servers that several journeys share, by their options. Whoever opens
// the link of one is the same viewer, so journeys that count tasks have their own.
type commons struct {
	dir string // of the servers' files

	mu      sync.Mutex // protects the fields below
	servers map[string]*server
}

// share returns a server that other journeys use, too.
func share(t testing.TB, args ...string) *server {
	t.Helper()
	if chrome == nil {
		t.Skip("there is no Chromium here")
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	key := strings.Join(args, " ")
	s := shared.servers[key]
	if s == nil {
		dir, err := os.MkdirTemp(shared.dir, "server-")
		if err != nil {
			t.Fatal(err)
		}
		s = &server{t: t, args: args, dir: dir, addr: freeAddress(t)}
		s.start()
		if shared.servers == nil {
			shared.servers = map[string]*server{}
		}
		shared.servers[key] = s
	}
	mine := *s
	mine.t = t
	return &mine
}

func (c *commons) end() {
	for _, s := range c.servers {
		s.end(os.Kill)
	}
}

// output is what a process prints.
type output struct {
	mu      sync.Mutex
	said    strings.Builder
	changed chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said.Write(b)
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(parley, append([]string{"serve", "--listen", s.addr}, s.args...)...)
	s.cmd.Dir = s.dir
	s.cmd.Env = append(os.Environ(), s.env...)
	stdout, stderr := &output{changed: make(chan struct{}, 1)}, &output{changed: make(chan struct{}, 1)}
	s.cmd.Stdout, s.cmd.Stderr = stdout, stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	late := time.After(patience)
	for {
		if said := stdout.String(); strings.Contains(said, "Stop ") {
			if s.link = ""; strings.Contains(said, "Console ") { // the link itself goes to terminals only
				s.link = s.cli("admin", "console")
			}
			return
		}
		select {
		case <-stdout.changed:
		case <-s.done:
			s.t.Fatalf("the server ended: %s%s", stdout, stderr)
		case <-late:
			s.t.Fatalf("the server does not come up: %s%s", stdout, stderr)
		}
	}
}

var kill = os.Signal(syscall.SIGKILL)

// end ends the server and waits for it.
func (s *server) end(by os.Signal) {
	_ = s.cmd.Process.Signal(by)
	<-s.done
}

// cli runs parley against the server's files.
func (s *server) cli(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(parley, args...)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "A2ACLI_AGENT_CARD=http://"+s.addr), s.env...)
	b, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			s.t.Fatalf("parley %q: %v %s%s", args, err, b, exit.Stderr)
		}
		s.t.Fatalf("parley %q: %v", args, err)
	}
	return strings.TrimSpace(string(b))
}

func (s *server) at(path string) string { return "http://" + s.addr + "/console" + path }

// send has an agent, by its path, get a message, as any client sends it, and returns
// the task's id.
func (s *server) send(agent, text string) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"configuration":{"returnImmediately":true},"message":{"role":"ROLE_USER","messageId":%q,"parts":[{"text":%s}]}}}`,
		fmt.Sprintf("m-%d", time.Now().UnixNano()), quote(text))
	res, err := http.Post("http://"+s.addr+agent, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal(b, &answer); err != nil || answer.Result.Task.ID == "" {
		s.t.Fatalf("send %q: %v %s", text, err, b)
	}
	return answer.Result.Task.ID
}

// key makes an API key.
func (s *server) key(options ...string) string {
	s.t.Helper()
	return keyIn.FindString(s.cli(append([]string{"key", "create"}, options...)...))
}

var keyIn = regexp.MustCompile(`parley_\S+`)

// keyID is what a key is revoked by.
func keyID(key string) string { return key[len("parley_") : len("parley_")+10] }
