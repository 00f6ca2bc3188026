package dialect

import (
	"cmp"

	"github.com/parley-a2a/parley/a2a"
)

func (w *oldWriter) v01Begin(id string) {
	w.open('{')
	w.text("id", id)
}

func (w *oldWriter) v01Send(r *a2a.SendMessageRequest) {
	m := orEmpty(r.Message)
	w.v01Begin(m.TaskID)
	w.optText("sessionId", m.ContextID)
	w.key("message")
	w.message(m)
	if c := r.Configuration; c != nil {
		w.optTexts("acceptedOutputModes", c.AcceptedOutputModes)
		if c.TaskPushNotificationConfig != nil {
			w.webhook(namesIn[form01].webhook, c.TaskPushNotificationConfig)
		}
		w.optInt("historyLength", positive(c.HistoryLength))
	}
	w.optRaw("metadata", r.Metadata)
	w.close('}')
}

// positive returns n, or nil if it asks for nothing.
func positive(n *int32) *int32 {
	if n == nil || *n <= 0 {
		return nil
	}
	return n
}

// v01Task writes a task. n is how much history was asked for.
func (w *oldWriter) v01Task(t *a2a.Task, n *int32) {
	t = orEmpty(t)
	w.v01Begin(t.ID)
	w.optText("sessionId", t.ContextID)
	w.status(&t.Status)
	if len(t.Artifacts) > 0 {
		index := -1
		list(&w.jsonWriter, "artifacts", t.Artifacts, func(a *a2a.Artifact) {
			index++
			w.v01Artifact(a, index, nil)
		})
	}
	if h := v01History(t, n); len(h) > 0 {
		list(&w.jsonWriter, "history", h, w.message)
	}
	w.optRaw("metadata", t.Metadata)
	w.close('}')
}

// v01History returns the last n messages of a task's history, of which the message of
// its status is the last.
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

// v01Answer returns the task that stands for a direct answer in 0.1, which has no other
// result. id is the client's name for the task.
func v01Answer(id string, m *a2a.Message) *a2a.Task {
	return &a2a.Task{
		ID: cmp.Or(m.TaskID, id), ContextID: m.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: m},
	}
}

// v01Artifact writes an artifact or, with u, a chunk of one.
func (w *oldWriter) v01Artifact(a *a2a.Artifact, index int, u *a2a.TaskArtifactUpdateEvent) {
	a = orEmpty(a)
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

// v01ArtifactEvent writes the event of an artifact.
func (w *oldWriter) v01ArtifactEvent(id string, a *a2a.Artifact, index int, u *a2a.TaskArtifactUpdateEvent) {
	w.v01Begin(id)
	w.key("artifact")
	w.v01Artifact(a, index, u)
	if u != nil {
		w.optRaw("metadata", u.Metadata)
	}
	w.close('}')
}
