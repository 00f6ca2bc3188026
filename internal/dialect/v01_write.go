package dialect

import "github.com/parley-a2a/parley/a2a"

// v01Writer writes the objects of 0.1. What a program left out by mistake is
// empty, so that the document stays readable.
type v01Writer struct{ jsonWriter }

func (w *v01Writer) begin(id string) {
	w.open('{')
	w.text("id", id)
}

func (w *v01Writer) sendParams(r *a2a.SendMessageRequest) {
	m := r.Message
	if m == nil {
		m = new(a2a.Message)
	}
	w.begin(m.TaskID)
	w.optText("sessionId", m.ContextID)
	w.message("message", m)
	if c := r.Configuration; c != nil {
		w.optTexts("acceptedOutputModes", c.AcceptedOutputModes)
		if c.TaskPushNotificationConfig != nil {
			w.webhook("pushNotification", c.TaskPushNotificationConfig)
		}
		w.optInt("historyLength", positive(c.HistoryLength))
	}
	w.optRaw("metadata", r.Metadata)
	w.close('}')
}

// positive returns n if it asks for anything.
func positive(n *int32) *int32 {
	if n == nil || *n <= 0 {
		return nil
	}
	return n
}

// taskWebhook is what sets a webhook, and what answers that.
func (w *v01Writer) taskWebhook(c *a2a.TaskPushNotificationConfig) {
	w.begin(c.TaskID)
	w.webhook("pushNotificationConfig", c)
	w.close('}')
}

func (w *v01Writer) webhook(name string, c *a2a.TaskPushNotificationConfig) {
	w.object(name)
	w.text("url", c.URL)
	w.optText("token", string(c.Token))
	if a := c.Authentication; a != nil {
		var schemes []string
		if a.Scheme != "" {
			schemes = []string{a.Scheme}
		}
		w.object("authentication")
		w.texts("schemes", schemes)
		w.optText("credentials", string(a.Credentials))
		w.close('}')
	}
	w.close('}')
}

// task writes a task. n is how much history was asked for.
func (w *v01Writer) task(t *a2a.Task, n *int32) {
	if t == nil {
		t = new(a2a.Task)
	}
	w.begin(t.ID)
	w.optText("sessionId", t.ContextID)
	w.status(&t.Status)
	if len(t.Artifacts) > 0 {
		index := -1
		list(&w.jsonWriter, "artifacts", t.Artifacts, func(a *a2a.Artifact) {
			index++
			w.artifact(a, index, nil)
		})
	}
	if h := v01History(t, n); len(h) > 0 {
		list(&w.jsonWriter, "history", h, w.words)
	}
	w.optRaw("metadata", t.Metadata)
	w.close('}')
}

// v01History returns the last n messages of a task's history, whose last one
// are the words of its status.
func v01History(t *a2a.Task, n *int32) []*a2a.Message {
	if n = positive(n); n == nil {
		return nil
	}
	h, last := t.History, t.Status.Message
	if last != nil && (len(h) == 0 || !sameWords(h[len(h)-1], last)) {
		h = append(h[:len(h):len(h)], last)
	}
	return h[max(0, len(h)-int(*n)):]
}

// sameWords reports whether both are one message, by their ids.
func sameWords(a, b *a2a.Message) bool {
	return a == b || a != nil && a.MessageID != "" && a.MessageID == b.MessageID && a.Role == b.Role
}

// v01Answer returns the task that a direct answer is in 0.1, which has no other
// result than a task. id is what the client called it.
func v01Answer(id string, m *a2a.Message) *a2a.Task {
	t := &a2a.Task{ID: m.TaskID, ContextID: m.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: m}}
	if t.ID == "" {
		t.ID = id
	}
	return t
}

func (w *v01Writer) status(s *a2a.TaskStatus) {
	w.object("status")
	w.text("state", v01State(s.State))
	if s.Message != nil {
		w.message("message", s.Message)
	}
	w.optTime("timestamp", s.Timestamp)
	w.close('}')
}

// v01State returns a state's name. 0.1 has neither rejected nor auth-required.
func v01State(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateRejected:
		s = a2a.TaskStateFailed
	case a2a.TaskStateAuthRequired:
		s = a2a.TaskStateInputRequired
	}
	if !s.Valid() {
		s = a2a.TaskStateUnspecified
	}
	return v03States[s]
}

func (w *v01Writer) message(name string, m *a2a.Message) {
	w.key(name)
	w.words(m)
}

func (w *v01Writer) words(m *a2a.Message) {
	if m == nil {
		m = new(a2a.Message)
	}
	role := "user"
	if m.Role == a2a.RoleAgent {
		role = "agent"
	}
	w.open('{')
	w.text("role", role)
	list(&w.jsonWriter, "parts", m.Parts, w.part)
	w.optRaw("metadata", m.Metadata)
	w.close('}')
}

// artifact writes an artifact, or, with u, the chunk of one.
func (w *v01Writer) artifact(a *a2a.Artifact, index int, u *a2a.TaskArtifactUpdateEvent) {
	if a == nil {
		a = new(a2a.Artifact)
	}
	w.open('{')
	w.optText("name", a.Name)
	w.optText("description", a.Description)
	list(&w.jsonWriter, "parts", a.Parts, w.part)
	w.int("index", int32(index))
	if u != nil {
		w.optBool("append", u.Append)
		w.optBool("lastChunk", u.LastChunk)
	}
	w.raw("metadata", withMember(a.Metadata, v01ArtifactIDMember, appendText(nil, a.ArtifactID)))
	w.close('}')
}

// v01ArtifactIDMember is the member of an artifact's metadata that keeps its id.
const v01ArtifactIDMember = "artifactId"

func (w *v01Writer) part(p *a2a.Part) {
	if p == nil {
		p = new(a2a.Part)
	}
	metadata := p.Metadata
	w.open('{')
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		w.text("type", "file")
		w.file(p)
	case a2a.PartData:
		var data a2a.JSON
		data, metadata = wrapData(p)
		metadata = mimeMetadata(metadata, p.MediaType)
		w.text("type", "data")
		w.raw("data", data)
	default:
		metadata = mimeMetadata(metadata, p.MediaType)
		w.text("type", "text")
		w.text("text", p.Text)
	}
	w.optRaw("metadata", metadata)
	w.close('}')
}

func (w *v01Writer) file(p *a2a.Part) {
	w.object("file")
	w.optText("name", p.Filename)
	w.optText("mimeType", p.MediaType)
	if p.Kind == a2a.PartRaw {
		w.bytes("bytes", p.Raw)
	} else {
		w.text("uri", p.URL)
	}
	w.close('}')
}

// statusEvent and artifactEvent are the two kinds of events.
func (w *v01Writer) statusEvent(id string, s *a2a.TaskStatus, final bool, metadata a2a.JSON) {
	w.begin(id)
	w.status(s)
	w.bool("final", final)
	w.optRaw("metadata", metadata)
	w.close('}')
}

func (w *v01Writer) artifactEvent(id string, a *a2a.Artifact, index int, u *a2a.TaskArtifactUpdateEvent) {
	w.begin(id)
	w.key("artifact")
	w.artifact(a, index, u)
	if u != nil {
		w.optRaw("metadata", u.Metadata)
	}
	w.close('}')
}
