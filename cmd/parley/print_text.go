package main

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
)

// textPrinter writes the text format. Results go to out, failures to err.
type textPrinter struct {
	out, err *textWriter
	verbose  bool // parts, ids and metadata one by one
	history  bool // messages of the history, too
	commands commands
	names    map[string]string // of artifacts by id: later chunks do not repeat them
	begun    map[string]bool   // artifacts by id, in a stream
	signedBy string            // the key of the last card; "" if nobody looked
	verdict  string            // on the signatures of the last card; "" if nobody looked
}

func newTextPrinter(out, err io.Writer, verbose, history bool, c commands) *textPrinter {
	return &textPrinter{
		out: newTextWriter(out), err: newTextWriter(err),
		verbose: verbose, history: history || verbose, commands: c, names: map[string]string{}, begun: map[string]bool{},
	}
}

func (p *textPrinter) sending(m *a2a.Message) error {
	if p.verbose {
		p.message("Sent message", m)
	}
	return p.out.flush()
}

func (p *textPrinter) sent(r *a2a.SendMessageResponse) error {
	if r.Message != nil {
		return p.direct(r.Message)
	}
	return p.task(r.Task)
}

// direct shows a message that answers without a task.
func (p *textPrinter) direct(m *a2a.Message) error {
	p.out.field("Task ID", m.TaskID)
	p.out.field("Context ID", m.ContextID)
	p.message("Message", m)
	return p.out.flush()
}

// head begins whatever is said about a task; the labels are the same
// everywhere (a2a-cli §11.2).
func (p *textPrinter) head(id, contextID string, s *a2a.TaskStatus) {
	p.out.field("Task ID", id)
	p.out.field("Context ID", contextID)
	p.out.field("State", s.State.String())
	if !s.Timestamp.IsZero() {
		p.out.field("Updated", s.Timestamp.UTC().Format(time.RFC3339))
	}
}

func (p *textPrinter) task(t *a2a.Task) error {
	p.whole(t)
	if s := t.Status.State; !s.Terminal() && !s.Interrupted() {
		p.out.field("Follow", p.commands.follow(t.ID))
	}
	return p.out.flush()
}

// whole shows all of a task, and how to answer it if it waits for that.
func (p *textPrinter) whole(t *a2a.Task) {
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

func (p *textPrinter) resume(t *a2a.Task) {
	if t.Status.State.Interrupted() {
		p.out.field("Resume", p.commands.reply(t))
	}
}

func (p *textPrinter) tasks(r *a2a.ListTasksResponse) error {
	for i, t := range r.Tasks {
		if i > 0 {
			_ = p.out.w.WriteByte('\n')
		}
		p.head(t.ID, t.ContextID, &t.Status)
		if p.verbose {
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
		_ = p.out.w.WriteByte('\n')
	}
	p.out.field("Tasks", strconv.Itoa(len(r.Tasks))+" of "+strconv.Itoa(max(int(r.TotalSize), len(r.Tasks))))
	p.out.field("Next page token", r.NextPageToken)
	return p.out.flush()
}

func (p *textPrinter) event(r *a2a.StreamResponse) error {
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
		if !e.Append && p.begun[e.Artifact.ArtifactID] {
			p.out.field("Replaces artifact", "yes") // such as that of a lost attempt
		}
		if p.verbose {
			p.out.field("Append", yesNo(e.Append))
			p.out.field("Last chunk", yesNo(e.LastChunk))
			p.metadata(e.Metadata)
		}
		p.artifact(e.Artifact)
	}
	return p.out.flush()
}

func (p *textPrinter) unfinished(t *a2a.Task) error {
	p.head(t.ID, t.ContextID, &t.Status)
	return p.out.flush()
}

func (p *textPrinter) failure(f *failure.Error) error {
	p.err.field("Error", f.Error())
	if len(f.Lines) > 0 {
		p.err.block("Mistakes", strings.Join(f.Lines, "\n"))
	}
	p.err.field("Hint", f.Hint)
	return p.err.flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
