//go:build unix

package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// The hosts for Python and TypeScript are judged by the demo agent, which is written in
// each of them.

func init() { translations = hosts }

// hosts are the demo agent in other languages, in which sleeping takes no time. One process
// of each serves all messages of a test.
func hosts(t *testing.T) (all []demo) {
	for _, l := range []struct{ name, interpreter, file string }{{"python", "python3", "quick.py"}, {"typescript", "node", "quick.mjs"}} {
		if argv, ok := interpreted(t, l.interpreter, "testdata/hosts/"+l.file); ok {
			c := Exec(argv, &ExecOptions{Mode: ExecLines, Processes: 1, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}).(*command)
			c.linger = long
			t.Cleanup(func() { c.Close() })
			all = append(all, demo{l.name, c, func(t *testing.T, test func(*testing.T)) { test(t) }})
		}
	}
	return all
}

// interpreted returns the command that runs a file, if its interpreter is there: in CI it must be.
func interpreted(t *testing.T, interpreter, file string) ([]string, bool) {
	t.Helper()
	_, err := exec.LookPath(interpreter)
	switch {
	case err == nil:
		return []string{interpreter, file}, true
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Logf("left out: %v", err)
	}
	return nil, false
}

// eachHost runs a test with the demo agent of each host as it is.
func eachHost(t *testing.T, o ExecOptions, test func(t *testing.T, c *command)) {
	for _, l := range []struct{ name, interpreter, file string }{
		{"python", "python3", "../hosts/python/demo.py"},
		{"typescript", "node", "../hosts/typescript/demo.mjs"},
	} {
		t.Run(l.name, func(t *testing.T) {
			argv, ok := interpreted(t, l.interpreter, l.file)
			if !ok {
				t.SkipNow()
			}
			o.Mode = ExecLines
			if o.Logger == nil {
				o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
			}
			c := Exec(argv, &o).(*command)
			c.linger = long
			defer c.Close()
			test(t, c)
		})
	}
}

// slept adds up what the quick clocks were asked to sleep.
type slept struct {
	slog.Handler
	mu    *sync.Mutex
	total *time.Duration
}

func (s slept) Enabled(context.Context, slog.Level) bool { return true }

func (s slept) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s slept) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if seconds, ok := strings.CutPrefix(a.Value.String(), "slept "); ok {
			n, _ := strconv.ParseFloat(seconds, 64)
			s.mu.Lock()
			*s.total += time.Duration(n * float64(time.Second))
			s.mu.Unlock()
		}
		return true
	})
	return nil
}

func TestHostsKeepTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"sleep 2.5":    2500 * time.Millisecond,
		"stream 5 200": 4 * 200 * time.Millisecond,
		"stream 3":     2 * 50 * time.Millisecond,
	} {
		for _, d := range hosts(t) {
			var total time.Duration
			s := slept{slog.DiscardHandler, new(sync.Mutex), &total}
			c := d.agent.(*command)
			c.opts.Logger = slog.New(s)
			if err := c.Run(t.Context(), NewTurn(newHost(text))); err != nil {
				t.Fatal(err)
			}
			c.Close() // by then all that it printed is in the log
			if total != want {
				t.Errorf("%s in %s slept %v, want %v", text, d.name, total, want)
			}
		}
	}
}

// Cancelled while it waits or between two chunks, the agent stops at once, says nothing
// more, and takes the next message with the same process.
func TestHostsStopAtOnce(t *testing.T) {
	eachHost(t, ExecOptions{Processes: 1}, func(t *testing.T, c *command) {
		var first *process
		for _, text := range []string{"sleep 3600", "stream 100 60000", "stream 100000 0", "ask", "auth"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			h := newHost(text)
			n := map[string]int{"sleep 3600": 1, "stream 100 60000": 2, "stream 100000 0": 5}[text]
			h.emitted = func(event) error {
				if len(h.events)+1 == max(n, 1) {
					cancel(ErrCanceled)
				}
				return nil
			}
			if err := c.Run(ctx, NewTurn(h)); !errors.Is(err, ErrCanceled) {
				t.Errorf("%s: Run = %v, want ErrCanceled", text, err)
			}
			c.mu.Lock()
			idle := c.idle
			c.mu.Unlock()
			if len(idle) != 1 || first != nil && idle[0] != first {
				t.Fatalf("%s: the process did not end its task", text)
			}
			first = idle[0]
		}
		h := newHost("echo still here")
		if err := c.Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		wantDemo(t, h, `>echo. "still here"`)
	})
}

// A process for each message ends with its message, and soon.
func TestHostsServeOneMessage(t *testing.T) {
	eachHost(t, ExecOptions{Grace: long}, func(t *testing.T, c *command) {
		h := newHost("ask Who?")
		h.answers = make(chan *a2a.Message, 1)
		h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("Ann")}}
		if err := runExec(t, t.Context(), c, h); err != nil {
			t.Fatal(err)
		}
		wantDemo(t, h, `input_required "Who?"`, `>answer. "Ann"`)
	})
}

// A process that waits for an answer makes room, and its task goes on in another run.
func TestHostsMakeRoom(t *testing.T) {
	eachHost(t, ExecOptions{Processes: 1}, func(t *testing.T, c *command) {
		asked := make(chan bool, 2)
		var all []*fakeHost
		ran := make(chan error, 2)
		for range 2 {
			h := newHost("ask Who?")
			h.answers = make(chan *a2a.Message, 1)
			h.emitted = func(ev event) error {
				if ev.state == a2a.TaskStateInputRequired {
					asked <- true
				}
				return nil
			}
			all = append(all, h)
			go func() { ran <- c.Run(t.Context(), NewTurn(h)) }()
			<-asked
		}
		for _, h := range all {
			h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("Ann")}}
			if err := <-ran; err != nil {
				t.Fatal(err)
			}
			wantDemo(t, h, `input_required "Who?"`, `>answer. "Ann"`)
		}
	})
}

// The first program of each language on the page does what it is there for, also from
// where a reader would have it.
func TestHostsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../hosts")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct{ lang, interpreter, file, modules, host string }{
		{"python", "python3", "hello.py", "parley", root + "/python/parley"},
		{"ts", "node", "hello.mjs", "node_modules/parley", root + "/typescript"},
	} {
		dir := t.TempDir()
		_, block, _ := strings.Cut(string(page), "```"+l.lang+"\n")
		program, _, _ := strings.Cut(block, "```")
		place := filepath.Join(dir, l.modules)
		err := errors.Join(os.WriteFile(filepath.Join(dir, l.file), []byte(program), 0o600), os.MkdirAll(filepath.Dir(place), 0o700), os.Symlink(l.host, place))
		if err != nil {
			t.Fatal(err)
		}
		argv, ok := interpreted(t, l.interpreter, l.file)
		if !ok {
			continue
		}
		h := newHost("hi")
		h.answers = make(chan *a2a.Message, 1)
		h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("Ann")}}
		if err := Exec(argv, &ExecOptions{Mode: ExecLines, Dir: dir}).Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		wantDemo(t, h, `input_required "What is your name?"`, `reply "Hello Ann!"`)
	}
}
