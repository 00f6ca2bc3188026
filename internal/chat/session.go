// Package chat is a conversation with an agent, one line of the user's at a time. It carries
// the context and the task that waits for an answer from turn to turn, and executes the
// commands that begin with a slash. Its caller supplies the lines and shows the answers.
//
// A Session belongs to one goroutine. To cancel a task it runs a second one, which it waits for.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/terminal"
)

// errStopped ends the context of a turn that the user stopped.
var errStopped = errors.New("the user stopped waiting")

// cancelWithin bounds the request that cancels a task.
const cancelWithin = 10 * time.Second

// Session is a conversation: its functions, all of which must be set, and its state.
type Session struct {
	// Line returns the user's next line, without its end; io.EOF ends the session, and
	// terminal.ErrAborted is Ctrl-C.
	Line func(ctx context.Context, prompt string) (string, error)
	// Say shows a line of the program.
	Say func(line string)
	// Fail shows a failure after which the conversation goes on.
	Fail func(err error)
	// Send sends a message and shows the result. It calls seen as soon as the task's id is
	// known. It returns the present task or, for a direct message, a task with only a context.
	Send func(ctx context.Context, m *a2a.Message, seen func(taskID string)) (*a2a.Task, error)
	// Cancel cancels a task.
	Cancel func(ctx context.Context, taskID string) error
	// Look returns the present state of a task.
	Look func(ctx context.Context, taskID string) (*a2a.Task, error)
	// Attach makes a part from a file.
	Attach func(path string) (*a2a.Part, error)
	// Save saves the artifacts of a task in a folder.
	Save func(ctx context.Context, taskID, dir string) error
	// Presses makes each Ctrl-C call a function, until release.
	Presses func(press func()) (release func())
	// Interactive says that a person types, so that a failure only ends the turn.
	Interactive bool

	// TaskID and ContextID are those of the next message; "" begins anew.
	TaskID, ContextID string

	last  *a2a.Task   // of the latest turn; nil before that
	parts []*a2a.Part // files for the next message
}

// Run converses until the user leaves. Unless Interactive, it returns the failure of a turn,
// because the lines after it may rely on its success.
func (s *Session) Run(ctx context.Context) error {
	warned := false // the user was told how to leave
	for {
		line, err := s.Line(ctx, s.prompt())
		switch {
		case errors.Is(err, terminal.ErrAborted):
			if warned {
				return nil
			}
			warned = true
			s.Say("press Ctrl-C again, or Ctrl-D, to leave")
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		warned = false
		leave, err := s.do(ctx, line)
		if leave {
			return nil
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !s.Interactive {
			return err
		}
		s.Fail(err)
	}
}

func (s *Session) prompt() string {
	if s.TaskID != "" {
		return "answer> "
	}
	return "> "
}

// do executes a line.
func (s *Session) do(ctx context.Context, line string) (leave bool, err error) {
	switch {
	case strings.HasPrefix(line, "//"):
		return s.turn(ctx, line[1:])
	case strings.HasPrefix(line, "/"):
		return s.command(ctx, line)
	case strings.TrimSpace(line) == "" && len(s.parts) == 0:
		return false, nil
	}
	return s.turn(ctx, line)
}

// turn sends a message and waits for the result.
func (s *Session) turn(outer context.Context, text string) (leave bool, err error) {
	m := &a2a.Message{MessageID: uuid.Must(uuid.NewV7()).String(), Role: a2a.RoleUser, TaskID: s.TaskID, ContextID: s.ContextID}
	if text != "" {
		m.Parts = append(m.Parts, a2a.TextPart(strings.ToValidUTF8(text, "\uFFFD")))
	}
	m.Parts = append(m.Parts, s.parts...)
	w := &watch{s: s, taskID: s.TaskID}
	w.ctx, w.stop = context.WithCancelCause(outer)
	release := s.Presses(w.press)
	t, err := s.Send(w.ctx, m, w.seen)
	release()
	w.end()

	if err == nil || w.taken {
		s.parts = nil // the agent has them
	}
	if context.Cause(w.ctx) == errStopped {
		if id := w.taskID; id != "" {
			s.Say("stopped waiting; task " + id + " may go on: /task shows it")
			s.TaskID, s.last = "", &a2a.Task{ID: id, ContextID: s.ContextID}
		} else {
			s.Say("stopped waiting; the agent may have taken the message")
		}
		return w.leave, nil
	}
	if err != nil {
		return false, err
	}
	s.at(t)
	return w.leave, nil
}

// at records the state of the conversation.
func (s *Session) at(t *a2a.Task) {
	if t.ContextID != "" {
		s.ContextID = t.ContextID
	}
	s.TaskID = ""
	if t.ID != "" {
		s.last = t
	}
	switch t.Status.State {
	case a2a.TaskStateInputRequired:
		s.TaskID = t.ID
	case a2a.TaskStateAuthRequired:
		s.TaskID = t.ID
		s.Say("the agent waits for an authorization: do what it asks for, then answer here, with any text if it wants none")
	}
}

// watch handles Ctrl-C during a turn: the first one cancels the task, the second one leaves.
type watch struct {
	s         *Session
	ctx       context.Context // of the turn
	stop      context.CancelCauseFunc
	canceling sync.WaitGroup // the request that cancels the task

	mu      sync.Mutex // protects the fields below until end returns
	presses int
	over    bool // the turn has ended
	leave   bool
	taskID  string
	taken   bool // the agent has the message
}

func (w *watch) seen(taskID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taskID, w.taken = taskID, true
}

func (w *watch) press() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.presses++
	switch id := w.taskID; {
	case w.over:
	case w.presses > 1:
		w.leave = true
		w.stop(errStopped)
	case id == "":
		w.stop(errStopped)
	default:
		w.canceling.Go(func() { w.cancel(id) })
	}
}

func (w *watch) cancel(id string) {
	w.s.Say("canceling task " + id)
	ctx, cancel := context.WithTimeout(w.ctx, cancelWithin)
	defer cancel()
	if err := w.s.Cancel(ctx, id); err != nil && w.ctx.Err() == nil {
		w.s.Say(fmt.Sprintf("the task cannot be canceled: %v", err))
		w.stop(errStopped)
	}
}

// end ends the watch, and waits for the request that cancels the task.
func (w *watch) end() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.stop(nil)
	w.canceling.Wait()
}
