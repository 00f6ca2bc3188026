package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/chat"
	"github.com/parley-a2a/parley/internal/download"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/interrupt"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/parts"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

func newChat(a *app) *cobra.Command {
	var noHistory bool
	cmd := a.configured(&cobra.Command{
		Annotations: shared,
		Use:         "chat",
		Short:       "Chat with an agent",
		Long: `Chat with an agent. Each line you type is a message in the same context, and the next
line answers a task that asks. Answers appear as they arrive; a lost connection is
resumed.

` + chat.Help + `

The lines you type are kept in ~/.config/a2a-cli/chat_history, which only you can read,
except those that begin with a space; --no-history keeps none. If standard input is
not a terminal, each of its lines is a message, and the first failure ends the chat.
--timeout applies to each message.`,
		Example: `  parley chat -a localhost:7275
  printf 'ask Where?\nBerlin\n' | parley chat -a localhost:7275 -o json`,
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string) error {
		return a.traced(cmd.Context(), cmd.CommandPath(), func(ctx context.Context) error { return a.chat(ctx, noHistory) })
	})
	cmd.Flags().BoolVar(&noHistory, "no-history", false, "neither read nor keep the history of lines")
	return cmd
}

func (a *app) chat(ctx context.Context, noHistory bool) error {
	interactive := a.typed()
	if interactive && !a.screen.IsTerminal() {
		return failure.Usagef("chat needs a terminal, and standard output is not one").
			WithHint("leave the redirection out, or give the lines on standard input: parley chat < lines.txt")
	}
	if a.flags.async {
		return failure.Usagef("chat waits for answers: --async is for send")
	}
	a.flags.stream = true // it determines the printed format
	if p, ok := a.print.(*output.JSON); ok {
		if a.flags.output == "yaml" || a.flags.output == "table" {
			return failure.Usagef("chat prints text, json, a template or what --jq makes, and not %s", a.flags.output)
		}
		p.Lines = true
	}
	if p, ok := a.print.(*output.Human); ok {
		p.Render(terminal.NewRenderer(a.screen, terminal.Hints{Save: func(*a2a.Task) string { return "/save" }}))
	}
	c, err := a.dial(ctx)
	if err != nil {
		return a.explain(ctx, err)
	}
	s := a.session(ctx, c)
	s.Interactive = interactive
	s.Line = terminal.Lines(a.stdin)
	if interactive {
		history := ""
		if !noHistory && a.around.global != "" {
			history = filepath.Join(filepath.Dir(a.around.global), "chat_history")
		}
		e := terminal.NewEditor(history, chat.Complete)
		defer func() {
			if err := e.Close(); err != nil {
				a.stderr.Note("Warning", "the lines are not kept: %v; --no-history does without", err)
			}
		}()
		s.Line = e.Line
		s.Say = func(line string) { fmt.Fprintln(a.stderr, plain.Line(line)) } // without the label of a note
		s.Say(a.card.Name + "; /help lists commands, Ctrl-D leaves")
	}
	err = s.Run(ctx)
	if interactive {
		fmt.Fprintln(a.stdout) // after the last prompt
		switch {
		case s.TaskID != "":
			s.Say("continue: " + a.commands.Line("chat", "--task-id", plain.Quote(s.TaskID)))
		case s.ContextID != "":
			s.Say("continue: " + a.commands.Line("chat", "--context-id", plain.Quote(s.ContextID)))
		}
	}
	a.noteVersion()
	if err != nil {
		return a.explainChat(ctx, err)
	}
	return nil
}

// typed reports whether standard input is a terminal.
func (a *app) typed() bool {
	_, is := terminal.Is(a.stdin)
	return is
}

// session connects a conversation with the agent and the printer.
func (a *app) session(outer context.Context, c *a2aclient.Client) *chat.Session {
	f := a.follower(c)
	return &chat.Session{
		TaskID: a.flags.taskID, ContextID: a.flags.contextID,
		Say:  func(line string) { a.stderr.Note("Note", "%s", line) },
		Fail: func(err error) { a.fail(a.explainChat(outer, err), nil) },
		Send: func(ctx context.Context, m *a2a.Message, seen func(string)) (*a2a.Task, error) {
			ctx, cancel := a.limited(ctx)
			defer cancel()
			t, err := a.exchange(ctx, f, m, seen)
			if errors.Is(context.Cause(ctx), errTimeout) {
				err = a.explain(ctx, err)
			}
			return t, err
		},
		Cancel: func(ctx context.Context, id string) error {
			_, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
			return err
		},
		Look: func(ctx context.Context, id string) (*a2a.Task, error) {
			ctx, cancel := a.limited(ctx)
			defer cancel()
			var t *a2a.Task
			err := a.onTask(ctx, c, id, func(id string) (err error) {
				t, err = c.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: new(int32(0))})
				return err
			})
			return t, err
		},
		Attach: parts.File,
		Save: func(ctx context.Context, id, dir string) error {
			t, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: new(int32(0))})
			if err != nil {
				return err
			}
			err = a.keep(&saveFlags{dir: dir}, t.Artifacts)
			if exists, ok := errors.AsType[*download.ExistsError](err); ok {
				err = failure.Usagef("/save %s: %v; nothing was written", dir, exists).WithHint("name another folder: /save DIR")
			}
			return err
		},
		Presses: func(press func()) func() { return interrupt.Catch(outer, press) },
	}
}

// explainChat is explain, extended by mistakes in a line of a conversation.
func (a *app) explainChat(ctx context.Context, err error) *failure.Error {
	if mistake, ok := errors.AsType[*chat.Mistake](err); ok {
		return failure.Usagef("%s", mistake.Error())
	}
	return a.explain(ctx, err)
}

// exchange sends a message of a conversation, and shows the result.
func (a *app) exchange(ctx context.Context, f *a2aclient.Follower, m *a2a.Message, seen func(string)) (*a2a.Task, error) {
	if err := a.print.Sending(m); err != nil {
		return nil, err
	}
	a.sending, a.last = true, nil
	direct := new(a2a.Task)
	err := a.watch(f.Send(ctx, &a2a.SendMessageRequest{Message: m, Metadata: a.flags.metadata}), func(r *a2a.StreamResponse) error {
		if r.Message != nil {
			direct.ContextID = r.Message.ContextID
		}
		if id := r.TaskID(); id != "" {
			seen(id)
		}
		return a.print.Event(r)
	})
	a.outage.Stop()
	if p, ok := a.print.(*output.Human); ok {
		p.End()
	}
	if err != nil {
		return nil, err
	}
	if a.last == nil {
		return direct, nil
	}
	a.outcome(a.last)
	return a.last, nil
}
