package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

// maxTurns is how many tasks of a context a chat shows, the newest ones.
const maxTurns = 20

// maxExamples is how many examples an empty chat proposes.
const maxExamples = 12

// maxEntries is how many entries of one task are read for a page.
const maxEntries = 200_000

// home redirects to the agent that most viewers want, or to the tasks for viewers who may not
// send messages.
func (c *Console) home(w http.ResponseWriter, r *request) {
	agents := c.opts.Agents()
	to := "/agents"
	switch {
	case r.answers() == "":
		to = "/tasks"
	case len(agents) > 0:
		to = "/chat/" + agents[0].Key()
	}
	http.Redirect(w, r.Request, base(r.Request)+to, http.StatusSeeOther)
}

// talk is the data of the template of a task's conversation.
type talk struct {
	ID        string
	Prefix    string
	Flow      template.HTML
	Standing  template.HTML
	Answering template.HTML // says that the next message answers its question
	Live      string        // names the task for the stream of updates; "" if there are none
}

type chatData struct {
	Agents    []Agent
	Agent     *Agent
	Context   string
	Ref       string // of an agent of another server
	Unlisted  bool   // the agent cannot list its tasks
	Earlier   bool   // there are more tasks than are shown
	Talks     []*talk
	Sends     bool   // the viewer may send messages
	Away      string // why the agent is away, for operators of the server
	Examples  []string
	Say       string // the initial text of the message
	Accept    string // media types for the file chooser
	MaxUpload int64
}

// taskAddress returns the address of a task's page.
func taskAddress(r *http.Request, agent, id string) string {
	return base(r) + taskPath(agent, id)
}

func taskPath(agent, id string) string {
	return "/tasks/" + url.PathEscape(agent) + "/" + url.PathEscape(id)
}

// talkOf builds a conversation from a task's log.
func (c *Console) talkOf(r *request, a *Agent, id string) (*talk, error) {
	address := taskAddress(r.Request, a.Key(), id)
	s := newSheet(prefixOf(address) + "flow")
	f := newFlow(s, address, id, r.answers())
	n := 0
	for batch, err := range c.readLog(r.ctx, a, id, 0) {
		if err != nil {
			return nil, err
		}
		f.add(batch)
		if n += len(batch); n > maxEntries {
			break
		}
	}
	return newTalk(f, s, a.Key()), nil
}

// newTalk returns what a flow wrote to a sheet for a task of an agent.
func newTalk(f *flow, s *sheet, agent string) *talk {
	t := &talk{ID: f.id, Prefix: f.prefix, Flow: template.HTML(s.HTML()), Standing: template.HTML(s.filled[f.prefix+"state"])}
	if !f.state.Terminal() {
		t.Live = liveName(agent, f.id, f.seq)
	}
	if f.state.Interrupted() {
		t.Answering = template.HTML(s.filled[f.prefix+"answering"])
	}
	return t
}

// chatOf returns an empty chat of a context.
func (c *Console) chatOf(r *request, a *Agent, context string) chatData {
	return chatData{Agents: c.opts.Agents(), Agent: a, Context: context, Ref: a.ref, Sends: r.answers() != "", Accept: accepts(a.Card), MaxUpload: c.opts.MaxUpload}
}

func (c *Console) chat(w http.ResponseWriter, r *request, a *Agent) {
	d := c.chatOf(r, a, r.FormValue("context"))
	d.Say = r.FormValue("say")
	for _, s := range a.Card.Skills {
		d.Examples = append(d.Examples, s.Examples...)
	}
	d.Examples = d.Examples[:min(len(d.Examples), maxExamples)]
	if c.seesAll(r) {
		if list, err := c.opts.Admin.Agents(r.ctx); err == nil { // the chat does not need it
			if of := named(list, a.Name); of != nil && of.State == admin.AgentAway {
				d.Away = calm(of.Reason)
			}
		}
	}
	var err error
	if d.Talks, d.Earlier, err = c.talks(r, a, nil); err != nil && a.ref != "" { // versions before 1.0 have no lists
		d.Unlisted = true
	} else if err != nil {
		c.failed(w, r, err)
		return
	}
	c.show(w, r, "chat", page{Title: a.Card.Name, Place: "chat", Data: d})
}

// talks reads the newest tasks of the page's context that the page does not show yet, and
// reports whether there are earlier ones. The task with the latest change is the last.
func (c *Console) talks(r *request, a *Agent, shown []string) (list []*talk, earlier bool, err error) {
	size, context := int32(maxTurns), r.FormValue("context")
	if context == "" {
		return nil, false, nil
	}
	tasks, err := a.Service.ListTasks(r.ctx, &a2a.ListTasksRequest{ContextID: context, PageSize: &size, HistoryLength: new(int32)})
	if err != nil {
		return nil, false, err
	}
	for _, t := range slices.Backward(tasks.Tasks) {
		if slices.Contains(shown, t.ID) {
			continue
		}
		one, err := c.talkOf(r, a, t.ID)
		if errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound}) {
			continue // deleted meanwhile
		} else if err != nil {
			return nil, false, err
		}
		list = append(list, one)
	}
	return list, tasks.NextPageToken != "", nil
}

// accepts returns the accept attribute of a file field, from the input modes of a card and its
// skills; "" for all types.
func accepts(card *a2a.AgentCard) string {
	modes := slices.Clone(card.DefaultInputModes)
	for _, s := range card.Skills {
		modes = append(modes, s.InputModes...)
	}
	var types []string
	for _, m := range modes {
		if m == "*/*" || m == "application/octet-stream" {
			return ""
		}
		m, _, _ = strings.Cut(m, ";")
		if m = strings.ToLower(strings.TrimSpace(m)); !slices.Contains(types, m) {
			types = append(types, m)
		}
	}
	return strings.Join(types, ",")
}

// say sends the form's message to the agent, as an answer if the path names a task.
func (c *Console) say(w http.ResponseWriter, r *request, a *Agent) {
	m, err := c.messageOf(r, a)
	if err != nil {
		c.failed(w, r, err)
		return
	}
	c.send(w, r, a, m)
}

// send sends a message, and answers with the changes to the page, or with the page that shows
// it.
func (c *Console) send(w http.ResponseWriter, r *request, a *Agent, m *a2a.Message) {
	req := &a2a.SendMessageRequest{Message: m, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true}}
	// The agent goes on when the viewer leaves; even then the message must be sent.
	res, err := a.Service.SendMessage(context.WithoutCancel(r.ctx), req)
	if err != nil {
		c.failed(w, r, err)
		return
	}
	to := m.ContextID
	if res.Task != nil {
		to = res.Task.ContextID
	}
	if !r.fragment() {
		chat := base(r.Request) + "/chat/" + a.Key() + "?context=" + url.QueryEscape(to)
		switch {
		case m.TaskID != "":
			chat = back(r, chat)
		case res.Message != nil: // no task keeps it, so it must be shown here
			c.said(w, r, a, m, res.Message)
			return
		case a.ref != "":
			chat = taskAddress(r.Request, a.Key(), res.Task.ID)
		}
		http.Redirect(w, r.Request, chat, http.StatusSeeOther)
		return
	}
	var out fragments
	switch {
	case r.FormValue("from") == "inbox":
		out.remove(rowName(taskAddress(r.Request, a.Key(), m.TaskID)))
		n := c.waiting(r.ctx)
		out.fill("waiting", execute("waiting", n))
		out.fill("waiting-words", execute("waiting-words", n))
	case res.Task != nil && m.TaskID == "":
		t, err := c.talkOf(r, a, res.Task.ID)
		if err != nil {
			c.failed(w, r, err)
			return
		}
		out.talk(t)
		out.fill("context", execute("context", to))
	case res.Message != nil:
		out.talk(exchange(m, res.Message))
		out.fill("context", execute("context", cmp.Or(res.Message.ContextID, to)))
	}
	sendFragments(w, &out)
}

// talk adds a conversation to a chat, once.
func (f *fragments) talk(t *talk) {
	f.remove("start")
	f.add("talks", "", execute("talk", t))
	f.add("answering", "", execute("answers", t))
}

// exchange returns a message and its direct answer as a conversation.
func exchange(m, answer *a2a.Message) *talk {
	s := newSheet(prefixOf(m.MessageID) + "flow")
	f := newFlow(s, "", "", "")
	f.prefix = prefixOf(m.MessageID)
	f.say(block{Class: "user", Parts: partsOf("", m.Parts, "", 0)})
	f.say(block{Class: "agent", Parts: f.told(answer)})
	return &talk{Prefix: f.prefix, Flow: template.HTML(s.HTML()), Standing: "The agent created no task, so the server does not keep this answer. Only this tab shows it."}
}

// said shows a direct answer on a page of its own.
func (c *Console) said(w http.ResponseWriter, r *request, a *Agent, m, answer *a2a.Message) {
	d := c.chatOf(r, a, answer.ContextID)
	d.Talks = []*talk{exchange(m, answer)}
	c.show(w, r, "chat", page{Title: a.Card.Name, Place: "chat", Data: d})
}

// retry sends the last message of a task again, in the task's context.
func (c *Console) retry(w http.ResponseWriter, r *request, a *Agent) {
	t, err := a.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: r.PathValue("task")})
	if err != nil {
		c.failed(w, r, err)
		return
	}
	var last *a2a.Message
	for _, m := range t.History {
		if m.Role == a2a.RoleUser {
			last = m
		}
	}
	if last == nil {
		c.fail(w, r.Request, http.StatusConflict, "There is nothing to say again", "The task has no message.")
		return
	}
	c.send(w, r, a, &a2a.Message{MessageID: uuid.Must(uuid.NewV7()).String(), Role: a2a.RoleUser, ContextID: t.ContextID, Parts: last.Parts, ReferenceTaskIDs: []string{t.ID}})
}

// messageOf makes a message from a form.
func (c *Console) messageOf(r *request, a *Agent) (*a2a.Message, error) {
	m := &a2a.Message{MessageID: r.FormValue("id"), Role: a2a.RoleUser, ContextID: r.FormValue("context"), TaskID: cmp.Or(r.PathValue("task"), r.FormValue("task"))}
	if m.MessageID == "" {
		m.MessageID = uuid.Must(uuid.NewV7()).String()
	}
	if m.TaskID != "" {
		m.ContextID = "" // it is the task's
	}
	if s := strings.ReplaceAll(strings.TrimSpace(r.FormValue("text")), "\r\n", "\n"); s != "" {
		if !utf8.ValidString(s) {
			return nil, a2a.Invalid("text", "is not UTF-8")
		}
		m.Parts = append(m.Parts, a2a.TextPart(s))
	}
	if r.MultipartForm != nil {
		for _, h := range r.MultipartForm.File["file"] {
			p, err := attachment(h)
			if err != nil {
				return nil, err
			}
			if p != nil {
				m.Parts = append(m.Parts, p)
			}
		}
	}
	if r.FormValue("form") != "" {
		t, err := a.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: m.TaskID, HistoryLength: new(int32)})
		if err != nil {
			return nil, err
		}
		q := questionOf(t.Status.Message)
		if q == nil || !t.Status.State.Interrupted() {
			return nil, a2a.Invalid("the form", "is no longer waited for: the task has gone on")
		}
		p, err := q.answerOf(r.Form)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, p)
	}
	if len(m.Parts) == 0 {
		return nil, a2a.Invalid("text", "is empty: write something, or attach a file")
	}
	return m, nil
}

// attachment reads a file of a form; it returns nil if none was chosen.
func attachment(h *multipart.FileHeader) (*a2a.Part, error) {
	if h.Filename == "" && h.Size == 0 {
		return nil, nil
	}
	f, err := h.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	kind := h.Header.Get("Content-Type")
	if kind == "" || kind == "application/octet-stream" {
		if byName := mime.TypeByExtension(filepath.Ext(h.Filename)); byName != "" {
			kind = byName
		}
	}
	return a2a.RawPart(b, kind, h.Filename), nil
}
