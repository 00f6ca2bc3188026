package console

import (
	"archive/zip"
	"cmp"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// views are the ways to look at a task.
var views = []view{{"", "Conversation"}, {"timeline", "Timeline"}, {"wire", "Wire"}, {"log", "Log"}}

type view struct{ Name, Title string }

type taskData struct {
	Agent     *Agent
	Key       string
	ID        string
	Context   string
	State     a2a.TaskState
	Created   time.Time
	Changed   time.Time
	Artifacts []*a2a.Artifact
	Address   string
	View      string
	Views     []view
	Last, At  int64 // positions; At is that of the whole page, 0 for the end
	Talk      *talk
	Reply     bool
	Timeline  []lane
	Wire      *wire
	Log       *logPage
}

// task shows a task, at its end or as of a position of its log.
func (c *Console) task(w http.ResponseWriter, r *request) {
	a := c.find(r.PathValue("agent"))
	if a == nil {
		c.fail(w, r.Request, http.StatusNotFound, "There is no such agent", "Choose one of the list of agents.")
		return
	}
	at, err := position(r.FormValue("at"), "")
	if err != nil {
		c.fail(w, r.Request, http.StatusBadRequest, "There is no such position", err.Error())
		return
	}
	id := r.PathValue("task")
	d := taskData{Agent: a, Key: a.key(), ID: id, View: r.FormValue("view"), Views: views, At: at, Address: taskAddress(r.Request, a.key(), id)}
	if !slices.ContainsFunc(views, func(v view) bool { return v.Name == d.View }) {
		d.View = ""
	}
	var entries []*a2a.Entry
	for batch, err := range c.opts.Log(r.ctx, a.Name, id, 0, false) {
		if err != nil {
			c.failed(w, r, err)
			return
		}
		if entries = append(entries, batch...); len(entries) > maxEntries {
			break
		}
	}
	if len(entries) == 0 {
		c.failed(w, r, &a2a.Error{Code: a2a.CodeTaskNotFound})
		return
	}
	d.Last = entries[len(entries)-1].Seq
	if d.At >= d.Last {
		d.At = 0
	}
	if d.At > 0 {
		n, _ := slices.BinarySearchFunc(entries, d.At+1, func(e *a2a.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
		entries = entries[:n]
	}
	d.facts(entries)
	switch d.View {
	case "timeline":
		d.Timeline = timeline(entries)
	case "wire":
		d.Wire = c.wire(r, a, entries)
	case "log":
		d.Log = logOf(entries, r.FormValue("after"))
	default:
		d.talk(r, entries)
	}
	c.show(w, r, "task", page{Title: "Task " + short(id), Place: "tasks", Data: d})
}

// facts are what the log says about a task as a whole.
func (d *taskData) facts(entries []*a2a.Entry) {
	d.Created, d.State = entries[0].Time, a2a.TaskStateSubmitted
	d.Changed = d.Created
	at := map[string]int{}
	for _, e := range entries {
		switch {
		case e.Created != nil:
			d.Context = e.Created.ContextID
		case e.Status != nil:
			if d.State != e.Status.Status.State {
				d.State, d.Changed = e.Status.Status.State, e.Time
			}
		case e.Artifact != nil:
			x := e.Artifact.Artifact
			if _, ok := at[x.ArtifactID]; !ok {
				at[x.ArtifactID] = len(d.Artifacts)
				d.Artifacts = append(d.Artifacts, x)
			}
		}
	}
}

func (d *taskData) talk(r *request, entries []*a2a.Entry) {
	s := newSheet(prefixOf(d.Address) + "flow")
	f := newFlow(s, d.Address, d.ID, r.csrf)
	f.add(entries)
	d.Talk = &talk{Agent: d.Key, ID: d.ID, Address: d.Address, Prefix: f.prefix, Flow: template.HTML(s.HTML())}
	if d.At > 0 {
		return // the past neither goes on nor takes an answer
	}
	d.Talk.Standing = template.HTML(s.filled[f.prefix+"state"])
	if !f.state.Terminal() {
		d.Talk.Live = fmt.Sprintf("%s/live?after=%d", d.Address, f.seq)
	}
	d.Reply = f.state.Interrupted()
}

// archive sends all artifacts of a task as one file.
func (c *Console) archive(w http.ResponseWriter, r *request) {
	a := c.find(r.PathValue("agent"))
	if a == nil {
		http.NotFound(w, r.Request)
		return
	}
	t, err := a.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: r.PathValue("task"), HistoryLength: new(int32)})
	if err != nil {
		c.failed(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "task-" + short(t.ID) + ".zip"}))
	h.Set("Cache-Control", "no-store")
	z := zip.NewWriter(&paced{newEventStream(w)})
	used := map[string]bool{}
	for i, x := range t.Artifacts {
		for n, p := range x.Parts {
			body, name := bytesOf(p), fileName(p)
			if p.Filename == "" {
				name = fmt.Sprintf("%s-%d%s", cmp.Or(fileName(&a2a.Part{Filename: x.Name}), "artifact"), n+1, ending(p))
			}
			if body == nil {
				continue // a link
			}
			if used[name] {
				name = fmt.Sprintf("%d-%d-%s", i+1, n+1, name)
			}
			used[name] = true
			f, err := z.Create(name)
			if err == nil {
				_, err = f.Write(body)
			}
			if err != nil {
				return // the client is gone
			}
		}
	}
	_ = z.Close() // a client that is gone has no use for the end
}

// remove deletes a task, once it was said twice.
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

func (c *Console) cancel(w http.ResponseWriter, r *request) {
	a := c.find(r.PathValue("agent"))
	if a == nil {
		c.fail(w, r.Request, http.StatusNotFound, "There is no such agent", "Choose one of the list of agents.")
		return
	}
	id := r.PathValue("task")
	if _, err := a.Service.CancelTask(r.ctx, &a2a.CancelTaskRequest{ID: id}); err != nil {
		c.failed(w, r, err)
		return
	}
	to := taskAddress(r.Request, a.key(), id)
	if from := r.Referer(); strings.Contains(from, "/chat/") {
		to = from
	}
	http.Redirect(w, r.Request, to, http.StatusSeeOther)
}

// shown are the media types of bytes that a page shows. Everything else is saved:
// SVG and HTML could run.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/mp4", "audio/webm"}

// part sends the bytes of a part: of the artifact a, or of the message m, the n-th.
func (c *Console) part(w http.ResponseWriter, r *request) {
	a := c.find(r.PathValue("agent"))
	if a == nil {
		http.NotFound(w, r.Request)
		return
	}
	t, err := a.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: r.PathValue("task")})
	if err != nil {
		c.failed(w, r, err)
		return
	}
	p := find(t, r.FormValue("a"), r.FormValue("m"), r.FormValue("n"))
	if p == nil {
		http.NotFound(w, r.Request)
		return
	}
	body := bytesOf(p)
	kind, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil {
		kind = "application/octet-stream"
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, max-age=3600")
	if slices.Contains(shown, kind) {
		h.Set("Content-Type", kind)
	} else {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(p)}))
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// bytesOf is what a part has to save; nil for a link.
func bytesOf(p *a2a.Part) []byte {
	switch p.Kind {
	case a2a.PartText:
		return []byte(p.Text)
	case a2a.PartData:
		return p.Data
	case a2a.PartRaw:
		return p.Raw
	}
	return nil
}

// extension is the end of the name of a part that has no name.
func ending(p *a2a.Part) string {
	switch p.Kind {
	case a2a.PartText:
		if strings.HasPrefix(p.MediaType, "text/markdown") {
			return ".md"
		}
		return ".txt"
	case a2a.PartData:
		return ".json"
	}
	if e, _ := mime.ExtensionsByType(p.MediaType); len(e) > 0 {
		return e[0]
	}
	return ".bin"
}

func find(t *a2a.Task, artifact, message, nth string) *a2a.Part {
	n, err := strconv.Atoi(nth)
	if err != nil || n < 0 {
		return nil
	}
	var parts []*a2a.Part
	if artifact != "" {
		for _, x := range t.Artifacts {
			if x.ArtifactID == artifact {
				parts = x.Parts
			}
		}
	} else {
		list := t.History
		if t.Status.Message != nil {
			list = append(slices.Clip(list), t.Status.Message)
		}
		for _, m := range list {
			if m.MessageID == message {
				parts = m.Parts
			}
		}
	}
	if n >= len(parts) {
		return nil
	}
	return parts[n]
}

// stored begins what stands in a log for bytes that are kept apart from it.
const stored = "parley-blob:"

// shows says as what a page shows bytes; "" if they are only to be saved.
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
