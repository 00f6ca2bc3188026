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
	d     *taskData
	facts facts
	lines *lineup
	view  func(*a2a.Entry) // adds an entry to the view of the page

	flow  *flow // of the conversation; it writes to the sheet
	sheet *sheet
	wire  *wireReader
	log   logPage
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

// read reads a task's log for the page d: its view, as of d.At.
func (c *Console) read(r *request, d *taskData) (*reading, error) {
	l := &reading{d: d, facts: facts{d: d, at: map[string]int{}, n: map[string]*numbers{}, part: flow{task: d.Address}}}
	for batch, err := range c.readLog(r.ctx, d.Agent, d.ID, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range batch {
			if d.Last == 0 {
				l.begin(c, r, e)
			}
			if d.Last = e.Seq; d.At == 0 || e.Seq <= d.At {
				l.facts.add(e)
				l.lines.add(e)
				l.view(e)
			}
		}
		if d.Last > maxEntries {
			break
		}
	}
	if d.Last == 0 {
		return nil, &a2a.Error{Code: a2a.CodeTaskNotFound}
	}
	return l, nil
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
	l.facts.begin(first)
	l.lines = newLineup(first.Time)
	if d.Host != nil {
		l.lines.attempts = int(d.Host.Attempt)
	}
	switch d.View {
	case "timeline":
		l.view = func(*a2a.Entry) {}
	case "wire":
		l.wire = &wireReader{c: c, r: r, a: d.Agent, after: d.After}
		l.view = l.wire.add
	case "log":
		l.view = func(e *a2a.Entry) { l.log.add(e, d.After) }
	default:
		l.sheet = newSheet(prefixOf(d.Address) + "flow")
		l.flow = newFlow(l.sheet, d.Address, d.ID, r.answers())
		if d.At > 0 || !d.Own {
			l.flow.csrf = "" // past positions take no answer, and another caller's task none of the viewer's
		}
		l.view = l.flow.one
	}
}

// facts are the log's information about a task as a whole.
type facts struct {
	d    *taskData
	at   map[string]int      // the index of an artifact in d
	n    map[string]*numbers // and its parts so far
	part flow                // makes the addresses of parts
}

func (f *facts) begin(first *a2a.Entry) {
	f.d.Created, f.d.Changed, f.d.State = first.Time, first.Time, a2a.TaskStateSubmitted
}

func (f *facts) add(e *a2a.Entry) {
	d := f.d
	switch {
	case e.Created != nil:
		d.Context = e.Created.ContextID
	case e.Status != nil:
		if d.State != e.Status.Status.State {
			d.State, d.Changed = e.Status.Status.State, e.Time
		}
	case e.Artifact != nil:
		f.artifact(e.Artifact)
	}
}

func (f *facts) artifact(u *a2a.TaskArtifactUpdateEvent) {
	x := u.Artifact
	i, ok := f.at[x.ArtifactID]
	if !ok {
		i = len(f.d.Artifacts)
		f.at[x.ArtifactID] = i
		f.d.Artifacts = append(f.d.Artifacts, artifact{Name: calm(cmp.Or(x.Name, "artifact"))})
	}
	a := &f.d.Artifacts[i]
	if !ok || !u.Append {
		a.Parts, f.n[x.ArtifactID] = nil, new(numbers)
	}
	for _, p := range x.Parts {
		so := f.n[x.ArtifactID].n
		if n := f.n[x.ArtifactID].next(p); n == so && (p.Kind != a2a.PartURL || strings.HasPrefix(p.URL, stored)) {
			a.Parts = append(a.Parts, f.part.partsOf([]*a2a.Part{p}, "save=1&a="+url.QueryEscape(x.ArtifactID), n)...)
		}
	}
}
