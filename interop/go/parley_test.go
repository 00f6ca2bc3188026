package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// binary is the parley of this tree, or the one that PARLEY names.
var binary = os.Getenv("PARLEY")

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if binary == "" {
			dir, err := os.MkdirTemp("", "parley-interop-")
			if err != nil {
				panic(err)
			}
			defer os.RemoveAll(dir)
			binary = filepath.Join(dir, "parley")
			build := exec.Command("go", "build", "-o", binary, "./cmd/parley")
			build.Dir = filepath.Join("..", "..")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "building parley: %v\n%s", err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// server is a running `parley serve`.
type server struct {
	url string
	log *switchboard
}

// serve runs the demo agent on a free port with nothing on disk.
func serve(t *testing.T) *server {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--ephemeral", "--log-level", "debug")
	cmd.Dir = t.TempDir()
	s := &server{log: &switchboard{address: make(chan string, 1)}}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case s.url = <-s.log.address:
	case err := <-ended:
		t.Fatalf("parley serve ended: %v\n%s", err, s.log.early.String())
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("parley serve: %v", err)
		}
	})
	return s
}

// switchboard passes a server's log to the transcript of the check that runs,
// once it has read the address from it.
type switchboard struct {
	address chan string

	mu    sync.Mutex // protects the fields below
	early bytes.Buffer
	found bool
	to    *transcript
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:[1-9][0-9]*`)

func (s *switchboard) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		s.to.Write(p)
	}
	if !s.found {
		s.early.Write(p)
		if url := address.Find(s.early.Bytes()); url != nil {
			s.found = true
			s.address <- string(url)
		}
	}
	return len(p), nil
}

func (s *switchboard) connect(to *transcript) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}

// command is the parley command as a client: one process for each call.
type command struct {
	url     string
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
	dir     string
	said    *transcript
}

// start runs parley and returns its standard output, and what waits for it to
// end and makes sure that it spoke what it was told to: it may fall back.
func (c *command) start(ctx context.Context, input string, args ...string) (io.Reader, func() error, error) {
	args = append(args, "-a", c.url, "--transport", string(c.binding), "--a2a-version", string(c.version),
		"-o", "json", "--debug", "--timeout", "20s")
	c.said.add("$ parley " + strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = c.dir
	cmd.Stdin = strings.NewReader(input)
	var log bytes.Buffer
	cmd.Stderr = io.MultiWriter(&log, c.said)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return out, func() error {
		err := cmd.Wait()
		if want := fmt.Sprintf(`"chose an interface" binding=%s version=%s `, c.binding, c.version); !strings.Contains(log.String(), want) {
			return fmt.Errorf("parley does not say that it %s", want)
		}
		if strings.Contains(log.String(), "falling back") {
			return errors.New("parley fell back")
		}
		return err
	}, nil
}

// failure is the error that is printed, as the one of a2a-go.
func failure(out []byte) error {
	var printed struct {
		Error *struct{ Code, Message string } `json:"error"`
	}
	if err := json.Unmarshal(out, &printed); err != nil || printed.Error == nil {
		return err
	}
	for code, err := range map[string]error{
		"TaskNotFoundError":         a2a.ErrTaskNotFound,
		"TaskNotCancelableError":    a2a.ErrTaskNotCancelable,
		"UnsupportedOperationError": a2a.ErrUnsupportedOperation,
	} {
		if printed.Error.Code == code {
			return fmt.Errorf("%w: %s", err, printed.Error.Message)
		}
	}
	return fmt.Errorf("%s: %s", printed.Error.Code, printed.Error.Message)
}

// call runs a command that prints one value.
func (c *command) call(ctx context.Context, v any, input string, args ...string) error {
	out, wait, err := c.start(ctx, input, args...)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(out)
	ended := wait()
	c.said.add("parley< " + string(text))
	switch {
	case err != nil:
		return err
	case len(text) == 0:
		return fmt.Errorf("parley printed nothing: %v", ended)
	}
	if err := failure(text); err != nil {
		return err
	}
	if ended != nil {
		return ended
	}
	return json.Unmarshal(text, v)
}

// events runs a command that prints a value for each event.
func (c *command) events(ctx context.Context, input string, args ...string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out, wait, err := c.start(ctx, input, append(args, "--stream")...)
		if err != nil {
			yield(nil, err)
			return
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			c.said.add("parley< " + lines.Text())
			if err := failure(lines.Bytes()); err != nil {
				wait()
				yield(nil, err)
				return
			}
			var r a2a.StreamResponse
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil || !yield(r.Event, err) {
				stop()
				wait()
				return
			}
		}
		if err := wait(); err != nil {
			yield(nil, err)
		}
	}
}

func (c *command) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	input, args, err := c.message(req)
	if err != nil {
		return nil, err
	}
	if req.Config != nil && req.Config.ReturnImmediately {
		args = append(args, "--async")
	}
	var r a2a.StreamResponse
	if err := c.call(ctx, &r, input, args...); err != nil {
		return nil, err
	}
	return r.Event.(a2a.SendMessageResult), nil
}

func (c *command) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	input, args, err := c.message(req)
	if err != nil {
		return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
	}
	return c.events(ctx, input, args...)
}

// message makes flags of a message, but of its first part, which is input.
func (c *command) message(req *a2a.SendMessageRequest) (string, []string, error) {
	m := req.Message
	args := []string{"send", "-"}
	for i, p := range m.Parts[1:] {
		name := filepath.Join(c.dir, strconv.Itoa(i))
		flag, content := "--file", p.Raw()
		switch {
		case p.URL() != "":
			args = append(args, flag, string(p.URL()), "--media-type", p.MediaType)
			continue
		case p.Raw() != nil:
			name = filepath.Join(c.dir, p.Filename)
		default:
			var err error
			if content, err = json.Marshal(p.Data()); err != nil {
				return "", nil, err
			}
			flag = "--data"
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return "", nil, err
		}
		args = append(args, flag, name)
		if p.MediaType != "" {
			args = append(args, "--media-type", p.MediaType)
		}
	}
	if m.TaskID != "" {
		args = append(args, "--task-id", string(m.TaskID))
	}
	if m.ContextID != "" {
		args = append(args, "--context-id", m.ContextID)
	}
	return m.Parts[0].Text(), args, nil
}

func (c *command) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	args := []string{"task", "get", string(req.ID)}
	if req.HistoryLength != nil {
		args = append(args, "--history", strconv.Itoa(*req.HistoryLength))
	}
	t := new(a2a.Task)
	return t, c.call(ctx, t, "", args...)
}

func (c *command) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	page := new(a2a.ListTasksResponse)
	return page, c.call(ctx, page, "", "task", "list", "--context-id", req.ContextID)
}

func (c *command) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	t := new(a2a.Task)
	return t, c.call(ctx, t, "", "task", "cancel", string(req.ID))
}

func (c *command) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return c.events(ctx, "", "task", "subscribe", string(req.ID))
}
