package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// oldForm is one of the forms that JSON had before 1.0.
type oldForm uint8

const (
	formTS    oldForm = iota // of 0.2 and 0.3: the TS form, see v03Codec
	formProto                // of 0.3: the proto form
	form01                   // of 0.1
)

// namesIn has what the forms call differently; "" is a member that a form does not have.
var namesIn = [...]struct{ kind, kindOfPart, parts, bytes, uri, webhook string }{
	formTS:    {kind: "kind", kindOfPart: "kind", parts: "parts", bytes: "bytes", uri: "uri", webhook: "pushNotificationConfig"},
	formProto: {parts: "content", bytes: "fileWithBytes", uri: "fileWithUri", webhook: "pushNotification"},
	form01:    {kindOfPart: "type", parts: "parts", bytes: "bytes", uri: "uri", webhook: "pushNotification"},
}

// oldWriter writes the objects of a form. What a program left out by mistake is written
// empty, so that the document stays readable.
type oldWriter struct {
	jsonWriter
	form oldForm
}

// v03States are the names of states in 0.1 and the TS form, by number.
var v03States = [...]string{
	"unknown", "submitted", "working", "completed", "failed", "canceled", "input-required", "rejected", "auth-required",
}

// state writes a state. 0.1 has neither rejected nor auth-required.
func (w *oldWriter) state(name string, s a2a.TaskState) {
	switch {
	case w.form == form01 && s == a2a.TaskStateRejected:
		s = a2a.TaskStateFailed
	case w.form == form01 && s == a2a.TaskStateAuthRequired:
		s = a2a.TaskStateInputRequired
	}
	switch {
	case w.form != formProto && s.Valid():
		w.text(name, v03States[s])
	case w.form != formProto:
		w.text(name, v03States[0])
	case s == a2a.TaskStateCanceled:
		w.text(name, "TASK_STATE_CANCELLED")
	default:
		w.text(name, s.String())
	}
}

func (w *oldWriter) role(r a2a.Role) {
	switch {
	case w.form == formProto:
		w.text("role", r.String())
	case r == a2a.RoleAgent:
		w.text("role", "agent")
	case r == a2a.RoleUser || w.form == form01:
		w.text("role", "user")
	}
}

// begin opens an object that says its kind in a member, if the form has it.
func (w *oldWriter) begin(member, kind string) {
	w.open('{')
	if member != "" {
		w.text(member, kind)
	}
}

func (w *oldWriter) task(t *a2a.Task) {
	t = orEmpty(t)
	w.begin(namesIn[w.form].kind, "task")
	w.text("id", t.ID)
	w.text("contextId", t.ContextID)
	w.status(&t.Status)
	if len(t.Artifacts) > 0 {
		list(&w.jsonWriter, "artifacts", t.Artifacts, w.artifact)
	}
	if len(t.History) > 0 {
		list(&w.jsonWriter, "history", t.History, w.message)
	}
	w.optRaw("metadata", t.Metadata)
	w.close('}')
}

func (w *oldWriter) status(s *a2a.TaskStatus) {
	w.object("status")
	w.state("state", s.State)
	if s.Message != nil {
		w.key("message")
		w.message(s.Message)
	}
	w.optTime("timestamp", s.Timestamp)
	w.close('}')
}

func (w *oldWriter) message(m *a2a.Message) {
	m = orEmpty(m)
	w.begin(namesIn[w.form].kind, "message")
	if w.form != form01 {
		w.text("messageId", m.MessageID)
		w.optText("contextId", m.ContextID)
		w.optText("taskId", m.TaskID)
	}
	w.role(m.Role)
	list(&w.jsonWriter, namesIn[w.form].parts, m.Parts, w.part)
	w.optRaw("metadata", m.Metadata)
	if w.form != form01 {
		w.optTexts("extensions", m.Extensions)
		w.optTexts("referenceTaskIds", m.ReferenceTaskIDs)
	}
	w.close('}')
}

func (w *oldWriter) artifact(a *a2a.Artifact) {
	a = orEmpty(a)
	w.open('{')
	w.text("artifactId", a.ArtifactID)
	w.optText("name", a.Name)
	w.optText("description", a.Description)
	list(&w.jsonWriter, "parts", a.Parts, w.part)
	w.optRaw("metadata", a.Metadata)
	w.optTexts("extensions", a.Extensions)
	w.close('}')
}

func (w *oldWriter) part(p *a2a.Part) {
	p = orEmpty(p)
	metadata := p.Metadata
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		w.begin(namesIn[w.form].kindOfPart, "file")
		w.file(p)
	case a2a.PartData:
		var data a2a.JSON
		data, metadata = wrapData(p)
		metadata = mimeMetadata(metadata, p.MediaType)
		w.begin(namesIn[w.form].kindOfPart, "data")
		if w.form == formProto { // a DataPart, which has one member
			w.object("data")
		}
		w.raw("data", data)
		if w.form == formProto {
			w.close('}')
		}
	default:
		metadata = mimeMetadata(metadata, p.MediaType)
		w.begin(namesIn[w.form].kindOfPart, "text")
		w.text("text", p.Text)
	}
	w.optRaw("metadata", metadata)
	w.close('}')
}

func (w *oldWriter) file(p *a2a.Part) {
	names := &namesIn[w.form]
	w.object("file")
	if w.form == form01 {
		w.optText("name", p.Filename)
		w.optText("mimeType", p.MediaType)
	}
	if p.Kind == a2a.PartRaw {
		w.bytes(names.bytes, p.Raw)
	} else {
		w.text(names.uri, p.URL)
	}
	if w.form != form01 {
		w.optText("mimeType", p.MediaType)
		w.optText("name", p.Filename)
	}
	w.close('}')
}

func (w *oldWriter) statusUpdate(u *a2a.TaskStatusUpdateEvent, final bool) {
	w.begin(namesIn[w.form].kind, "status-update")
	if w.form == form01 {
		w.text("id", u.TaskID)
	} else {
		w.text("taskId", u.TaskID)
		w.text("contextId", u.ContextID)
	}
	w.status(&u.Status)
	w.bool("final", final)
	w.optRaw("metadata", u.Metadata)
	w.close('}')
}

func (w *oldWriter) artifactUpdate(u *a2a.TaskArtifactUpdateEvent) {
	w.begin(namesIn[w.form].kind, "artifact-update")
	w.text("taskId", u.TaskID)
	w.text("contextId", u.ContextID)
	w.key("artifact")
	w.artifact(u.Artifact)
	w.optBool("append", u.Append)
	w.optBool("lastChunk", u.LastChunk)
	w.optRaw("metadata", u.Metadata)
	w.close('}')
}

// card writes a card; in the proto form, for readers of both forms.
func (w *oldWriter) card(c *a2a.AgentCard) {
	profile := CardV03
	if w.form == formProto {
		profile = CardV03REST
	}
	w.b = AppendCard(w.b, c, profile)
}

// webhook writes a PushNotificationConfig, which does not name its task.
func (w *oldWriter) webhook(name string, c *a2a.TaskPushNotificationConfig) {
	w.object(name)
	if w.form != form01 { // in 0.1 a task has one
		w.optText("id", c.ID)
	}
	w.text("url", c.URL)
	w.optText("token", string(c.Token))
	if a := c.Authentication; a != nil {
		w.object("authentication")
		var schemes []string
		if a.Scheme != "" {
			schemes = []string{a.Scheme}
		}
		w.texts("schemes", schemes)
		w.optText("credentials", string(a.Credentials))
		w.close('}')
	}
	w.close('}')
}

// taskWebhook writes a TaskPushNotificationConfig.
func (w *oldWriter) taskWebhook(c *a2a.TaskPushNotificationConfig) {
	c = orEmpty(c)
	w.open('{')
	switch {
	case w.form == form01:
		w.text("id", c.TaskID)
	case w.form == formProto:
		w.text("name", webhookName(c.TaskID, c.ID))
	default:
		w.text("taskId", c.TaskID)
	}
	w.webhook("pushNotificationConfig", c)
	w.close('}')
}

// Resource names of the proto form. Ids may hold anything, slashes too.
const (
	tasksCollection    = "tasks/"
	webhooksCollection = "/pushNotificationConfigs/"
)

func taskName(id string) string { return tasksCollection + id }

func webhookName(task, id string) string { return taskName(task) + webhooksCollection + id }

// cutTaskName returns the id in a task's name; a plain id stays as it is.
func cutTaskName(name string) string { return strings.TrimPrefix(name, tasksCollection) }

// cutWebhookName returns the ids in a webhook's name. If the webhook's id is known, it
// is returned, and shows where the task's id ends.
func cutWebhookName(name, id string) (task, webhook string) {
	name = cutTaskName(name)
	if task, ok := strings.CutSuffix(name, webhooksCollection+id); ok {
		return task, id
	}
	if at := strings.LastIndex(name, webhooksCollection); at >= 0 {
		name, webhook = name[:at], name[at+len(webhooksCollection):]
	}
	if id != "" {
		webhook = id
	}
	return strings.TrimSuffix(name, strings.TrimSuffix(webhooksCollection, "/")), webhook
}
