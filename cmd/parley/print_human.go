package main

import (
	"io"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

// humanPrinter is what a person at a terminal gets who asks for no format. What is
// no task is shown as text has it.
type humanPrinter struct {
	*textPrinter
	r *terminal.Renderer
	a *app
}

func newHumanPrinter(a *app, text *textPrinter) *humanPrinter {
	c := a.commands
	r := terminal.NewRenderer(a.screen, terminal.Hints{
		Answer: c.reply,
		GoOn: func(t *a2a.Task) string {
			if t.ContextID == "" {
				return ""
			}
			return c.line("send", "--context-id", plain.Quote(t.ContextID), `"<message>"`)
		},
		Follow: func(t *a2a.Task) string { return c.follow(t.ID) },
		Save:   func(t *a2a.Task) string { return c.line("task download", argument(t.ID)) },
	})
	r.History = text.history
	return &humanPrinter{text, r, a}
}

func (p *humanPrinter) sent(r *a2a.SendMessageResponse) error {
	if r.Message != nil {
		return p.event(&a2a.StreamResponse{Message: r.Message})
	}
	return p.task(r.Task)
}

func (p *humanPrinter) task(t *a2a.Task) error            { return p.r.Task(t) }
func (p *humanPrinter) event(r *a2a.StreamResponse) error { return p.r.Event(r) }

func (p *humanPrinter) unfinished(t *a2a.Task) error {
	p.r.End()
	return nil
}

// failure is worded for people only if they see it: standard error may be a file.
func (p *humanPrinter) failure(f *failure.Error) error {
	if !p.a.screen.Watched() {
		return p.textPrinter.failure(f)
	}
	code := f.Code
	if code == failure.CodeUsage || code == failure.CodeInterrupted { // the message says it all
		code = ""
	}
	_, err := io.WriteString(p.a.stderr, p.a.screen.Failure(code, f.Message, f.Lines, f.Hint))
	return err
}

func (p *humanPrinter) tasks(list *a2a.ListTasksResponse) error {
	name := ""
	if p.a.card != nil {
		name = p.a.card.Name
	}
	if err := p.r.List(list.Tasks, name, time.Now()); err != nil {
		return err
	}
	if len(list.Tasks) == 0 {
		return p.r.Summary("no tasks")
	}
	if list.NextPageToken == "" {
		return nil
	}
	return p.r.Summary("%s of %d; the next: %s", plain.Count(len(list.Tasks), "task"), max(int(list.TotalSize), len(list.Tasks)),
		p.commands.line("task list", "--page-token", plain.Quote(list.NextPageToken)))
}
