package output

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
)

// Text writes the text format. Results go to out, failures to err.
type Text struct {
	out, err *Writer
	history  bool // show messages of the history, too
	commands Commands
	names    map[string]string // of the artifacts shown, by id: later chunks do not repeat them
}

func NewText(out, err io.Writer, verbose, history bool, c Commands) *Text {
	p := &Text{out: NewWriter(out), err: NewWriter(err), history: history || verbose, commands: c, names: map[string]string{}}
	p.out.verbose = verbose
	return p
}

// Doc implements Printer.
func (p *Text) Doc(_ any, text func(*Writer)) error {
	text(p.out)
	return p.out.Flush()
}

func (p *Text) Sending(m *a2a.Message) error {
	if p.out.verbose {
		p.message("Sent message", m)
	}
	return p.out.Flush()
}

func (p *Text) Sent(r *a2a.SendMessageResponse) error {
	if r.Message != nil {
		return p.direct(r.Message)
	}
	return p.Task(r.Task)
}

// direct shows a direct message.
func (p *Text) direct(m *a2a.Message) error {
	p.out.Field("Task ID", m.TaskID)
	p.out.Field("Context ID", m.ContextID)
	p.message("Message", m)
	return p.out.Flush()
}

// head shows the first lines for a task, always with the same labels (a2a-cli §11.2).
func (p *Text) head(id, contextID string, s *a2a.TaskStatus) {
	p.out.Field("Task ID", id)
	p.out.Field("Context ID", contextID)
	p.out.Field("State", s.State.String())
	if !s.Timestamp.IsZero() {
		p.out.Field("Updated", s.Timestamp.UTC().Format(time.RFC3339))
	}
}

func (p *Text) Task(t *a2a.Task) error {
	p.whole(t)
	if s := t.Status.State; !s.Terminal() && !s.Interrupted() {
		p.out.Field("Follow", p.commands.Follow(t.ID))
	}
	return p.out.Flush()
}

// whole shows a complete task, and how to answer it if it waits for that.
func (p *Text) whole(t *a2a.Task) {
	p.head(t.ID, t.ContextID, &t.Status)
	p.metadata(t.Metadata)
	if p.history {
		for _, m := range t.History {
			p.message("History message", m)
		}
	}
	p.message("Status message", t.Status.Message)
	for _, a := range t.Artifacts {
		p.artifact(a)
	}
	p.resume(t)
}

func (p *Text) resume(t *a2a.Task) {
	if t.Status.State.Interrupted() {
		p.out.Field("Resume", p.commands.Reply(t))
	}
}

func (p *Text) Tasks(r *a2a.ListTasksResponse) error {
	for i, t := range r.Tasks {
		if i > 0 {
			p.out.Blank()
		}
		p.head(t.ID, t.ContextID, &t.Status)
		if p.out.verbose {
			p.metadata(t.Metadata)
			p.message("Status message", t.Status.Message)
		}
		if p.history {
			for _, m := range t.History {
				p.message("History message", m)
			}
		}
	}
	if len(r.Tasks) > 0 {
		p.out.Blank()
	}
	p.out.Field("Tasks", strconv.Itoa(len(r.Tasks))+" of "+strconv.Itoa(max(int(r.TotalSize), len(r.Tasks))))
	p.out.Field("Next page token", r.NextPageToken)
	return p.out.Flush()
}

func (p *Text) Event(r *a2a.StreamResponse) error {
	switch {
	case r.Task != nil:
		p.whole(r.Task)
	case r.Message != nil:
		return p.direct(r.Message)
	case r.StatusUpdate != nil:
		e := r.StatusUpdate
		p.head(e.TaskID, e.ContextID, &e.Status)
		p.metadata(e.Metadata)
		p.message("Status message", e.Status.Message)
		p.resume(&a2a.Task{ID: e.TaskID, ContextID: e.ContextID, Status: e.Status})
	case r.ArtifactUpdate != nil && r.ArtifactUpdate.Artifact != nil:
		e := r.ArtifactUpdate
		if _, begun := p.names[e.Artifact.ArtifactID]; begun && !e.Append {
			p.out.Field("Replaces artifact", "yes") // such as that of a lost attempt
		}
		if p.out.verbose {
			p.out.Field("Append", yesNo(e.Append))
			p.out.Field("Last chunk", yesNo(e.LastChunk))
			p.metadata(e.Metadata)
		}
		p.artifact(e.Artifact)
	case r.MessageUpdate != nil:
		p.message("Client message", r.MessageUpdate.Message)
	}
	return p.out.Flush()
}

func (p *Text) Unfinished(t *a2a.Task) error {
	p.head(t.ID, t.ContextID, &t.Status)
	return p.out.Flush()
}

func (p *Text) Failure(f *failure.Error) error {
	p.err.Field("Error", f.Error())
	if len(f.Lines) > 0 {
		p.err.Block("Mistakes", strings.Join(f.Lines, "\n"))
	}
	p.err.Field("Hint", f.Hint)
	return p.err.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
