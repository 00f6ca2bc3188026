package output

import (
	"io"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

// Human is the output for a person at a terminal who chose no format. It shows everything
// except tasks as Text does.
type Human struct {
	*Text
	r      *terminal.Renderer
	screen *terminal.Screen
	err    io.Writer
}

// NewHuman returns the printer of a screen. Failures go to err, in the text format if standard
// error is no terminal.
func NewHuman(screen *terminal.Screen, err io.Writer, text *Text) *Human {
	c := text.commands
	r := terminal.NewRenderer(screen, terminal.Hints{
		Answer: c.Reply,
		GoOn: func(t *a2a.Task) string {
			if t.ContextID == "" {
				return ""
			}
			return c.Line("send", "--context-id", plain.Quote(t.ContextID), `"<message>"`)
		},
		Follow: func(t *a2a.Task) string { return c.Follow(t.ID) },
		Save:   func(t *a2a.Task) string { return c.Line("task download", Argument(t.ID)) },
	})
	r.History = text.history
	return &Human{text, r, screen, err}
}

// Render makes r render further output, with its own hints.
func (p *Human) Render(r *terminal.Renderer) { p.r = r }

// End ends the output of a stream.
func (p *Human) End() { p.r.End() }

func (p *Human) Sent(r *a2a.SendMessageResponse) error {
	if r.Message != nil {
		return p.Event(&a2a.StreamResponse{Message: r.Message})
	}
	return p.Task(r.Task)
}

func (p *Human) Task(t *a2a.Task) error            { return p.r.Task(t) }
func (p *Human) Event(r *a2a.StreamResponse) error { return p.r.Event(r) }

func (p *Human) Unfinished(t *a2a.Task) error {
	p.r.End()
	return nil
}

// Failure uses the format for people only if standard error is a terminal.
func (p *Human) Failure(f *failure.Error) error {
	if !p.screen.Watched() {
		return p.Text.Failure(f)
	}
	code := f.Code
	if code == failure.CodeUsage || code == failure.CodeInterrupted { // the message is enough
		code = ""
	}
	_, err := io.WriteString(p.err, p.screen.Failure(code, f.Message, f.Lines, f.Hint))
	return err
}

func (p *Human) Tasks(list *a2a.ListTasksResponse) error {
	if err := p.r.List(list.Tasks, time.Now()); err != nil {
		return err
	}
	if len(list.Tasks) == 0 {
		return p.r.Summary("no tasks")
	}
	if list.NextPageToken == "" {
		return nil
	}
	return p.r.Summary("%s of %d; the next: %s", plain.Count(len(list.Tasks), "task"), max(int(list.TotalSize), len(list.Tasks)),
		p.commands.Line("task list", "--page-token", plain.Quote(list.NextPageToken)))
}
