package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/terminal"
)

// world is an agent and a user of a script.
type world struct {
	*Session
	log     []string
	prompts []string
	press   func() // Ctrl-C, while a turn runs
	turns   int
}

// newWorld returns a session whose user types these lines; "^C" is Ctrl-C at the prompt.
func newWorld(t *testing.T, lines ...string) *world {
	w := new(world)
	w.Session = &Session{
		Interactive: true,
		Line: func(_ context.Context, prompt string) (string, error) {
			w.prompts = append(w.prompts, prompt)
			if len(lines) == 0 {
				return "", io.EOF
			}
			line := lines[0]
			lines = lines[1:]
			if line == "^C" {
				return "", terminal.ErrAborted
			}
			return line, nil
		},
		Say:  func(line string) { w.log = append(w.log, "say "+line) },
		Fail: func(err error) { w.log = append(w.log, "fail "+err.Error()) },
		Send: func(ctx context.Context, m *a2a.Message, seen func(string)) (*a2a.Task, error) {
			w.turns++
			var words []string
			for _, p := range m.Parts {
				words = append(words, p.Text+p.Filename)
			}
			w.log = append(w.log, strings.TrimSpace("send "+strings.Join(words, "+")+" task="+m.TaskID+" context="+m.ContextID))
			id := "t" + string(rune('0'+w.turns))
			at := func(s a2a.TaskState) *a2a.Task {
				return &a2a.Task{ID: id, ContextID: "c1", Status: a2a.TaskStatus{State: s}}
			}
			switch m.Text() {
			case "ask":
				return at(a2a.TaskStateInputRequired), nil
			case "auth":
				return at(a2a.TaskStateAuthRequired), nil
			case "direct":
				return &a2a.Task{ContextID: "c9"}, nil
			case "break":
				return nil, errors.New("the connection is lost")
			case "cancel", "deaf", "stuck":
				seen(id)
				w.press()
				<-ctx.Done() // until the agent, or the user, ends it
				return at(a2a.TaskStateCanceled), nil
			case "silent":
				w.press()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return at(a2a.TaskStateCompleted), nil
		},
		Cancel: func(context.Context, string) error { return nil },
		Look: func(_ context.Context, id string) (*a2a.Task, error) {
			if id == "gone" {
				return nil, errors.New("no such task")
			}
			return &a2a.Task{ID: id, ContextID: "c5", Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}}, nil
		},
		Attach: func(path string) (*a2a.Part, error) {
			if path == "missing" {
				return nil, errors.New("no such file")
			}
			return a2a.RawPart([]byte("x"), "", path), nil
		},
		Save: func(_ context.Context, id, dir string) error {
			w.log = append(w.log, "save "+id+" in "+dir)
			return nil
		},
		Presses: func(press func()) func() { w.press = press; return func() { w.press = nil } },
	}
	return w
}

func (w *world) wants(t *testing.T, want ...string) {
	t.Helper()
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Error(diff)
	}
}

// A2ACLI_CHAT_001: context and task are carried.
func TestTurnsCarryContextAndTask(t *testing.T) {
	w := newWorld(t, "hello", "", "ask", "Berlin", "direct", "//slash", "/new", "again")
	w.wants(t, "send hello task= context=", "send ask task= context=c1", "send Berlin task=t2 context=c1", "send direct task= context=c1",
		"send /slash task= context=c9", "say the next message begins a new conversation", "send again task= context=")
	if want := []string{"> ", "> ", "> ", "answer> ", "> ", "> ", "> ", "> ", "> "}; !slices.Equal(w.prompts, want) {
		t.Errorf("prompts %q", w.prompts)
	}
}

// A2ACLI_AUTH_011: what auth-required wants is said, and answered in the same task.
func TestAuthRequiredIsAnsweredInItsTask(t *testing.T) {
	newWorld(t, "auth", "done").wants(t, "send auth task= context=",
		"say the agent waits for an authorization: do what it asks for, then answer here, with any text if it wants none", "send done task=t1 context=c1")
}

func TestCommands(t *testing.T) {
	newWorld(t, "/task", "/save", "/attach missing", "/attach a.txt", "/attach 'b c.txt'", "look", "/save out", "/task gone", "/task t7", "reply", "/wat", "/quit", "never").wants(t,
		"say there is no task yet",
		"fail /save: there is no task yet whose files could be saved",
		"fail /attach missing: no such file",
		"say the next message takes along: a.txt",
		"say the next message takes along: a.txt, b c.txt",
		"send look+a.txt+b c.txt task= context=",
		"save t1 in out",
		"fail no such task",
		"say task t7 is input required", "say context c5",
		"send reply task=t7 context=c5",
		"fail unknown command /wat: /help lists them, and //wat sends it as a message",
	)
}

func TestCtrlCAtThePromptLeavesTheSecondTime(t *testing.T) {
	newWorld(t, "^C", "hello", "^C", "^C", "never").wants(t, "say press Ctrl-C again, or Ctrl-D, to leave", "send hello task= context=",
		"say press Ctrl-C again, or Ctrl-D, to leave")
}

// Ctrl-C during a turn cancels the task and not the session.
func TestCtrlCCancelsTheTurn(t *testing.T) {
	w := newWorld(t, "cancel", "hello")
	send, end := w.Send, make(chan struct{})
	w.Cancel = func(_ context.Context, id string) error { w.log = append(w.log, "cancel "+id); close(end); return nil }
	w.Send = func(ctx context.Context, m *a2a.Message, seen func(string)) (*a2a.Task, error) {
		if m.Text() != "cancel" {
			return send(ctx, m, seen)
		}
		seen("t1")
		w.press()
		<-end
		return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}}, nil
	}
	w.wants(t, "say canceling task t1", "cancel t1", "send hello task= context=c1")
}

func TestATaskThatCannotBeCanceledIsLeftAlone(t *testing.T) {
	w := newWorld(t, "deaf", "hello")
	w.Cancel = func(context.Context, string) error { return errors.New("not now") }
	w.wants(t, "send deaf task= context=", "say canceling task t1", "say the task cannot be canceled: not now",
		"say stopped waiting; task t1 may go on: /task shows it", "send hello task= context=")
}

func TestTheSecondCtrlCLeaves(t *testing.T) {
	w := newWorld(t, "stuck", "never")
	w.Cancel = func(ctx context.Context, _ string) error {
		w.press()
		<-ctx.Done()
		return ctx.Err()
	}
	w.wants(t, "send stuck task= context=", "say canceling task t1", "say stopped waiting; task t1 may go on: /task shows it")
}

func TestCtrlCBeforeThereIsATask(t *testing.T) {
	newWorld(t, "silent", "hello").wants(t, "send silent task= context=", "say stopped waiting; the agent may have taken the message", "send hello task= context=")
}

func TestAFailureEndsWhatNobodyTypes(t *testing.T) {
	newWorld(t, "break", "hello").wants(t, "send break task= context=", "fail the connection is lost", "send hello task= context=")
	w := newWorld(t, "break", "never")
	w.Interactive = false
	if err := w.Run(t.Context()); err == nil || w.turns != 1 {
		t.Errorf("%d turns, %v", w.turns, err)
	}
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"report.pdf", "readme", ".hidden", "x\x1b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "rest"), 0o700); err != nil {
		t.Fatal(err)
	}
	sep := string(filepath.Separator)
	for line, want := range map[string][]string{
		"/a":                         {"/attach "},
		"/":                          {"/attach ", "/help ", "/new ", "/quit ", "/save ", "/task "},
		"hello":                      nil,
		"/attach " + dir + sep + "r": {dir + sep + "readme", dir + sep + "report.pdf", dir + sep + "rest" + sep},
		"/attach " + dir + sep + ".": {dir + sep + ".hidden"},
		"/save " + dir + sep:         {dir + sep + "rest" + sep},
		"/attach /no/such/folder/":   nil,
	} {
		if _, got, _ := Complete(line, len([]rune(line))); !slices.Equal(got, want) {
			t.Errorf("%q completes to %q, want %q", line, got, want)
		}
	}
}

// Files that went along with a message whose task is known do not go with the next one.
func TestFilesOfAMessageThatWasLeftGoOnce(t *testing.T) {
	w := newWorld(t, "/attach f", "deaf", "next", "/attach g", "silent", "again")
	w.Session.Cancel = func(context.Context, string) error { return errors.New("no") }
	w.wants(t,
		"say the next message takes along: f",
		"send deaf+f task= context=",
		"say canceling task t1",
		"say the task cannot be canceled: no",
		"say stopped waiting; task t1 may go on: /task shows it",
		"send next task= context=",
		"say the next message takes along: g",
		"send silent+g task= context=c1",
		"say stopped waiting; the agent may have taken the message",
		"send again+g task= context=c1", // nobody knows
	)
}
