package console

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/download"
)

// views are the ways to look at a task.
var views = []view{{"", "Conversation"}, {"timeline", "Timeline"}, {"wire", "Wire"}, {"log", "Log"}}

type view struct{ Name, Title string }

// titled returns the title of a page in a view, so that tabs and bookmarks differ.
func titled(page string, views []view, name string) string {
	for _, v := range views {
		if v.Name == name && name != "" {
			return v.Title + " · " + page
		}
	}
	return page
}

type taskData struct {
	Agent     *Agent
	ID        string
	Context   string
	State     a2a.TaskState
	Created   time.Time
	Changed   time.Time
	Artifacts []*artifact
	Address   string
	View      string
	Views     []view
	Last, At  int64       // positions; At is that of the whole page, 0 for the end
	After     int64       // the position after which the entries of the wire and the log begin
	Host      *admin.Task // nil for viewers who do not operate the server
	Own       bool        // the viewer's task, which the viewer may answer and cancel
	Chat      bool        // it is in a chat of the viewer
	Cancel    bool        // the viewer may cancel it
	Talk      *talk
	Reply     bool
	Lanes     []lane
	In, Out   int64   // tokens
	Traces    []trace // of its messages
	Wire      *wire
	Log       *logPage
}

// artifact is an artifact with the addresses of its parts.
type artifact struct {
	Name  string
	Parts []part
	numbers
}

// task shows a task, at its end or as of a position of its log.
func (c *Console) task(w http.ResponseWriter, r *request, a *Agent) {
	at, err := position(r.FormValue("at"))
	if err != nil {
		c.fail(w, r.Request, http.StatusBadRequest, "There is no such position", err.Error())
		return
	}
	id := r.PathValue("task")
	d := taskData{Agent: a, ID: id, View: r.FormValue("view"), Views: views, At: at, Address: taskAddress(r.Request, a.Key(), id)}
	if !slices.ContainsFunc(views, func(v view) bool { return v.Name == d.View }) {
		d.View = ""
	}
	if d.After, err = position(r.FormValue("after")); err != nil || r.FormValue("after") == "" {
		d.After = max(d.At-maxWire, 0) // entries before the position are on the page
	}
	if d.At > 0 && c.atEnd(r, a, id, d.At) {
		d.At = 0
	}
	if err := c.read(r, &d); err != nil {
		c.failed(w, r, err)
		return
	}
	d.Cancel = d.At == 0 && !d.State.Terminal() && (d.Own || r.viewer.May(a2a.ScopeAdminWrite))
	for i, t := range d.Traces {
		if t.Kept && c.opts.Trace != nil && c.seesAll(r) {
			d.Traces[i].Address = c.opts.Trace(t.ID)
		}
	}
	c.show(w, r, "task", page{Title: titled("Task "+short(id), views, d.View), Place: "tasks", Data: d})
}

// beside adds to the lanes what the log does not have: the process that has the task, the state
// of its webhooks, and when it will be deleted.
func (c *Console) beside(r *request, d *taskData) {
	if d.Host == nil || d.At > 0 || len(d.Lanes) == 0 {
		return
	}
	last := &d.Lanes[len(d.Lanes)-1]
	if d.Host.Node != "" {
		last.Note = "on " + d.Host.Node
	}
	if d.Host.Lost > 0 {
		lost := "1 process was lost"
		if d.Host.Lost > 1 {
			lost = fmt.Sprintf("%d processes were lost", d.Host.Lost)
		}
		last.Note = strings.TrimPrefix(last.Note+", taken over: "+lost+" in this turn", ", ")
	}
	begin := d.Lanes[0].Began
	hooks := lane{Title: "Webhooks", Began: begin, Took: c.now().Sub(begin)}
	list, err := c.opts.Admin.Deliveries(r.ctx, admin.DeliveryQuery{Task: d.Host.Name})
	if err == nil && list != nil {
		for _, x := range list.Deliveries {
			h := happening{Kind: "webhook " + x.State, Title: calm(x.Host), Time: x.Created, Words: fmt.Sprintf("%s, delivered %d of %d", x.State, x.Cursor, x.Last)}
			if x.Tries > 0 {
				h.Time = x.Since
				h.Words += fmt.Sprintf("; %d tries failed: %s; next at %s", x.Tries, calm(x.Reason), when(x.Due))
			}
			h.After = max(h.Time.Sub(begin), 0)
			hooks.Events = append(hooks.Events, h)
		}
	}
	dead, err := c.opts.Admin.DeadLetters(r.ctx, admin.DeliveryQuery{Task: d.Host.Name})
	if err == nil && dead != nil {
		for _, x := range dead.Letters {
			hooks.Events = append(hooks.Events, happening{From: x.Seq, To: x.Seq, Kind: "webhook disabled", Title: "Dead letter", Time: x.Time, After: x.Time.Sub(begin),
				Words: fmt.Sprintf("given up after %d tries: %s", x.Tries, calm(x.Reason))})
		}
	}
	if len(hooks.Events) > 0 {
		d.Lanes = append(d.Lanes, hooks)
	}
	if at, rule := c.retention(r, d); !at.IsZero() {
		d.Lanes = append(d.Lanes, lane{Title: "Retention", Began: at, Events: []happening{{Kind: "retention", Title: "Deleted", Time: at, After: at.Sub(begin), Words: "on " + when(at) + ", as " + rule + " says, unless it changes before"}}})
	}
}

// retention returns when a task will be deleted, and the setting that says so.
func (c *Console) retention(r *request, d *taskData) (time.Time, string) {
	rule := "retention.failed"
	switch {
	case d.State == a2a.TaskStateCompleted:
		rule = "retention.completed"
	case d.State.Interrupted():
		rule = "retention.waiting"
	case !d.State.Terminal():
		return time.Time{}, ""
	}
	settings, err := c.opts.Admin.Settings(r.ctx)
	if err != nil {
		return time.Time{}, ""
	}
	for _, s := range settings {
		if keep, err := keepFor(s.Value); s.Name == rule && err == nil && keep > 0 {
			return d.Changed.Add(keep), rule + ": " + s.Value
		}
	}
	return time.Time{}, ""
}

// keepFor parses a retention, which may be in whole days.
func keepFor(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

func (d *taskData) talk(f *flow, s *sheet) {
	d.Talk = newTalk(f, s, d.Agent.Key())
	if d.At > 0 {
		d.Talk.Standing, d.Talk.Live = "", ""
		return
	}
	d.Reply = f.state.Interrupted() && d.Own && (f.asked == nil || f.asked.Form == nil)
}

// whole returns the present state of the task in the path: the viewer's own or, for an
// operator, any caller's. If there is none, it answers the request and returns nil.
func (c *Console) whole(w http.ResponseWriter, r *request) *a2a.Task {
	a := c.called(w, r)
	if a == nil {
		return nil
	}
	id := r.PathValue("task")
	t, err := a.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: id})
	if errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound}) && c.seesAll(r) {
		t, err = c.opts.Admin.TaskAt(r.ctx, id, 0)
	}
	if err != nil {
		c.failed(w, r, err)
		return nil
	}
	return t
}

// archive sends all artifacts of a task as one file.
func (c *Console) archive(w http.ResponseWriter, r *request) {
	t := c.whole(w, r)
	if t == nil {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "task-" + short(t.ID) + ".zip"}))
	h.Set("Cache-Control", "no-store")
	z := zip.NewWriter(w)
	for _, file := range download.Files(t.Artifacts) {
		if file.URL != "" {
			continue
		}
		f, err := z.Create(file.Name)
		if err == nil {
			_, err = f.Write(file.Content)
		}
		if err != nil {
			return // the client has left
		}
	}
	_ = z.Close() // an error means that the client has left
}

// remove deletes a task, after a confirmation.
func (c *Console) remove(w http.ResponseWriter, r *request) {
	if c.opts.Admin == nil {
		c.fail(w, r.Request, http.StatusForbidden, "Tasks cannot be deleted here", "This server's console has no administration.")
		return
	}
	if r.FormValue("sure") != "yes" {
		c.fail(w, r.Request, http.StatusBadRequest, "Nothing was deleted", "Tick the box to say that you are sure.")
		return
	}
	if err := c.opts.Admin.DeleteTask(r.ctx, r.PathValue("task")); err != nil {
		c.failed(w, r, err)
		return
	}
	http.Redirect(w, r.Request, base(r.Request)+"/tasks", http.StatusSeeOther)
}

func (c *Console) cancel(w http.ResponseWriter, r *request, a *Agent) {
	id := r.PathValue("task")
	_, err := a.Service.CancelTask(r.ctx, &a2a.CancelTaskRequest{ID: id})
	if errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound}) && c.seesAll(r) {
		_, err = c.opts.Admin.CancelTask(r.ctx, id)
	}
	if err != nil {
		c.failed(w, r, err)
		return
	}
	if r.fragment() {
		w.WriteHeader(http.StatusNoContent) // the page's stream brings the result
		return
	}
	http.Redirect(w, r.Request, back(r, taskAddress(r.Request, a.Key(), id)), http.StatusSeeOther)
}

// shown are the media types that a page shows. All others can only be saved, because SVG and
// HTML could run scripts.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/mp4", "audio/webm"}

// part sends the bytes of the n-th part of the artifact a or the message m.
func (c *Console) part(w http.ResponseWriter, r *request) {
	t := c.whole(w, r)
	if t == nil {
		return
	}
	f := find(t, r.FormValue("a"), r.FormValue("m"), r.FormValue("n"))
	if f == nil {
		c.fail(w, r.Request, http.StatusNotFound, "There is no such file", "The task has no part at this address.")
		return
	}
	kind, _, _ := mime.ParseMediaType(f.MediaType)
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-cache") // an artifact that is replaced keeps its address
	h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(f.Content)))
	if slices.Contains(shown, kind) && !r.URL.Query().Has("save") {
		h.Set("Content-Type", kind)
	} else {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	}
	http.ServeContent(w, r.Request, "", time.Time{}, bytes.NewReader(f.Content))
}

// find returns a part of an artifact, by its number, or of a message, by its index; nil if
// there is none.
func find(t *a2a.Task, artifact, message, nth string) *download.File {
	var files []*download.File
	for _, x := range t.Artifacts {
		if artifact != "" && x.ArtifactID == artifact {
			files = download.Files([]*a2a.Artifact{x})
		}
	}
	list := t.History
	if t.Status.Message != nil {
		list = append(slices.Clip(list), t.Status.Message)
	}
	for _, m := range list {
		for i := range m.Parts {
			if artifact == "" && m.MessageID == message {
				files = append(files, download.Files([]*a2a.Artifact{{Name: "message", Parts: m.Parts[i : i+1]}})...)
			}
		}
	}
	n, err := strconv.Atoi(nth)
	if err != nil || n < 0 || n >= len(files) {
		return nil
	}
	return files[n]
}

// stored begins the reference in a log to bytes that are stored apart from it.
const stored = "parley-blob:"

// shows returns the element in which a page shows bytes; "" if they can only be saved.
func shows(p *a2a.Part) string {
	kind, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil || !slices.Contains(shown, kind) {
		return ""
	}
	return kind[:strings.IndexByte(kind, '/')]
}

func kindOf(p *a2a.Part) string {
	switch p.Kind {
	case a2a.PartText:
		return "text"
	case a2a.PartRaw:
		return "raw"
	case a2a.PartURL:
		if strings.HasPrefix(p.URL, stored) {
			return "raw"
		}
		return "url"
	}
	return "data"
}
