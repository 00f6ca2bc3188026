package console

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// reading builds one page of a task. It reads the log entry by entry and keeps none, so a page
// of a long task needs one pass and little memory. It belongs to one goroutine.
type reading struct {
	d         *taskData
	artifacts map[string]*artifact
	lines     *lineup
	view      func(*a2a.Entry) // adds an entry to the view of the page
	end       func()           // completes the view
}

// atEnd reports whether a task's log has no entries after a position.
func (c *Console) atEnd(r *request, a *Agent, id string, at int64) bool {
	for batch, err := range c.readLog(r.ctx, a, id, at) {
		if err != nil {
			return false // read finds the same error, and answers with it
		}
		for _, e := range batch {
			if e.Seq > at { // the log of a foreign agent always begins at its start
				return false
			}
		}
	}
	return true
}

// read fills in the page d from the task's log, as of d.At.
func (c *Console) read(r *request, d *taskData) error {
	l := &reading{d: d, artifacts: map[string]*artifact{}}
	for batch, err := range c.readLog(r.ctx, d.Agent, d.ID, 0) {
		if err != nil {
			return err
		}
		for _, e := range batch {
			if d.Last == 0 {
				l.begin(c, r, e)
			}
			if d.Last = e.Seq; d.At == 0 || e.Seq <= d.At {
				l.add(e)
				l.lines.add(e)
				l.view(e)
			}
		}
		if d.Last > maxEntries {
			break
		}
	}
	if d.Last == 0 {
		return &a2a.Error{Code: a2a.CodeTaskNotFound}
	}
	d.In, d.Out, d.Traces = l.lines.in, l.lines.out, l.lines.traces
	l.end()
	return nil
}

// begin prepares the page, once it is known that the viewer may see the task.
func (l *reading) begin(c *Console, r *request, first *a2a.Entry) {
	d := l.d
	d.Own, d.Chat = r.viewer.May(a2a.ScopeTasksWrite), true
	if c.seesAll(r) { // they may be looking at another caller's task, and have no chat with it
		_, err := d.Agent.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: d.ID, HistoryLength: new(int32)})
		d.Chat = err == nil
	}
	if c.seesAll(r) && d.At == 0 { // each look at another caller's task is in the audit log
		if of, err := c.opts.Admin.Task(r.ctx, d.ID); err == nil && of != nil { // otherwise the log is enough
			d.Host, d.Own = of, d.Own && of.Owner == r.viewer.Subject
		}
	}
	d.Created, d.Changed, d.State = first.Time, first.Time, a2a.TaskStateSubmitted
	l.lines = newLineup(first.Time)
	if d.Host != nil {
		l.lines.attempts = int(d.Host.Attempt)
	}
	switch d.View {
	case "timeline":
		l.view = func(*a2a.Entry) {}
		l.end = func() {
			d.Lanes = l.lines.end()
			c.beside(r, d)
		}
	case "wire":
		w := &wireReader{c: c, r: r, a: d.Agent, after: d.After}
		l.view, l.end = w.add, func() { d.Wire = &w.wire }
	case "log":
		d.Log = new(logPage)
		l.view, l.end = func(e *a2a.Entry) { d.Log.add(e, d.After) }, func() {}
	default:
		s := newSheet(prefixOf(d.Address) + "flow")
		f := newFlow(s, d.Address, d.ID, r.answers())
		if d.At > 0 || !d.Own {
			f.csrf = "" // past positions take no answer, and another caller's task none of the viewer's
		}
		l.view, l.end = f.one, func() { d.talk(f, s) }
	}
}

// add adds an entry's information about the task as a whole.
func (l *reading) add(e *a2a.Entry) {
	d := l.d
	switch {
	case e.Created != nil:
		d.Context = e.Created.ContextID
	case e.Status != nil:
		if d.State != e.Status.Status.State {
			d.State, d.Changed = e.Status.Status.State, e.Time
		}
	case e.Artifact != nil:
		l.artifact(e.Artifact)
	}
}

func (l *reading) artifact(u *a2a.TaskArtifactUpdateEvent) {
	x := u.Artifact
	a := l.artifacts[x.ArtifactID]
	if a == nil {
		a = &artifact{Name: calm(cmp.Or(x.Name, "artifact"))}
		l.artifacts[x.ArtifactID] = a
		l.d.Artifacts = append(l.d.Artifacts, a)
	} else if !u.Append {
		a.Parts, a.numbers = nil, numbers{}
	}
	for _, p := range x.Parts {
		so := a.n
		if n := a.next(p); n == so && (p.Kind != a2a.PartURL || strings.HasPrefix(p.URL, stored)) {
			a.Parts = append(a.Parts, partsOf(l.d.Address, []*a2a.Part{p}, "save=1&a="+url.QueryEscape(x.ArtifactID), n)...)
		}
	}
}
