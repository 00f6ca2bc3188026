package dialect

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// v01Params are the parameters of every operation, and what answers those of
// webhooks.
type v01Params struct {
	ID                     string      `json:"id"`
	SessionID              string      `json:"sessionId,omitempty"`
	Message                *v01Message `json:"message,omitempty"`
	AcceptedOutputModes    []string    `json:"acceptedOutputModes,omitempty"`
	PushNotification       *v01Webhook `json:"pushNotification,omitempty"`
	PushNotificationConfig *v01Webhook `json:"pushNotificationConfig,omitempty"`
	HistoryLength          *int32      `json:"historyLength,omitempty"`
	Metadata               a2a.JSON    `json:"metadata,omitempty"`
}

type v01Webhook struct {
	URL            string             `json:"url"`
	Token          string             `json:"token,omitempty"`
	Authentication *v01Authentication `json:"authentication,omitempty"`
}

type v01Authentication struct {
	Schemes     []string `json:"schemes"`
	Credentials string   `json:"credentials,omitempty"`
}

type v01Task struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionId,omitempty"`
	Status    *v01Status     `json:"status"`
	Artifacts []*v01Artifact `json:"artifacts,omitempty"`
	History   []*v01Message  `json:"history,omitempty"`
	Metadata  a2a.JSON       `json:"metadata,omitempty"`
}

type v01Status struct {
	State     string      `json:"state"`
	Message   *v01Message `json:"message,omitempty"`
	Timestamp string      `json:"timestamp,omitempty"`
}

type v01Message struct {
	Role     string     `json:"role"`
	Parts    []*v01Part `json:"parts"`
	Metadata a2a.JSON   `json:"metadata,omitempty"`
}

type v01Part struct {
	Type     string   `json:"type"`
	Text     *string  `json:"text,omitempty"`
	File     *v01File `json:"file,omitempty"`
	Data     a2a.JSON `json:"data,omitempty"`
	Metadata a2a.JSON `json:"metadata,omitempty"`
}

type v01File struct {
	Name     string  `json:"name,omitempty"`
	MimeType string  `json:"mimeType,omitempty"`
	Bytes    *[]byte `json:"bytes,omitempty"`
	URI      string  `json:"uri,omitempty"`
}

type v01Artifact struct {
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	Parts       []*v01Part `json:"parts"`
	Index       int        `json:"index"`
	Append      bool       `json:"append,omitempty"`
	LastChunk   bool       `json:"lastChunk,omitempty"`
	Metadata    a2a.JSON   `json:"metadata,omitempty"`
}

// v01Event is an event of either kind.
type v01Event struct {
	ID       string       `json:"id"`
	Status   *v01Status   `json:"status,omitempty"`
	Final    *bool        `json:"final,omitempty"` // with a status
	Artifact *v01Artifact `json:"artifact,omitempty"`
	Metadata a2a.JSON     `json:"metadata,omitempty"`
}

func v01SendParams(r *a2a.SendMessageRequest) v01Params {
	p := v01Params{Metadata: r.Metadata}
	if m := r.Message; m != nil {
		p.ID, p.SessionID, p.Message = m.TaskID, m.ContextID, v01MessageOf(m)
	}
	if c := r.Configuration; c != nil {
		p.AcceptedOutputModes = c.AcceptedOutputModes
		p.HistoryLength = positive(c.HistoryLength)
		if c.TaskPushNotificationConfig != nil {
			p.PushNotification = v01WebhookOf(c.TaskPushNotificationConfig)
		}
	}
	return p
}

// positive returns n if it asks for anything.
func positive(n *int32) *int32 {
	if n == nil || *n <= 0 {
		return nil
	}
	return n
}

func v01WebhookOf(c *a2a.TaskPushNotificationConfig) *v01Webhook {
	w := &v01Webhook{URL: c.URL, Token: c.Token}
	if a := c.Authentication; a != nil {
		w.Authentication = &v01Authentication{Schemes: []string{a.Scheme}, Credentials: a.Credentials}
		if a.Scheme == "" {
			w.Authentication.Schemes = []string{}
		}
	}
	return w
}

// v01TaskOf returns a task as 0.1 shows it. n is how much history was asked
// for; the words of the status are its last message.
func v01TaskOf(t *a2a.Task, n *int32) *v01Task {
	out := &v01Task{ID: t.ID, SessionID: t.ContextID, Status: v01StatusOf(&t.Status), Metadata: t.Metadata}
	for i, a := range t.Artifacts {
		out.Artifacts = append(out.Artifacts, v01ArtifactOf(a, i))
	}
	for _, m := range v01History(t, n) {
		out.History = append(out.History, v01MessageOf(m))
	}
	return out
}

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
	return a == b || a.MessageID != "" && a.MessageID == b.MessageID && a.Role == b.Role
}

// v01Answer returns the task that a direct answer to a message is in 0.1.
func v01Answer(to, answer *a2a.Message) *v01Task {
	t := &a2a.Task{ID: answer.TaskID, ContextID: answer.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: answer}}
	if to != nil && t.ID == "" {
		t.ID = to.TaskID
	}
	return v01TaskOf(t, nil)
}

// v01StateOf returns a state's name; 0.1 has neither rejected nor auth-required.
func v01StateOf(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateSubmitted:
		return "submitted"
	case a2a.TaskStateWorking:
		return "working"
	case a2a.TaskStateCompleted:
		return "completed"
	case a2a.TaskStateFailed, a2a.TaskStateRejected:
		return "failed"
	case a2a.TaskStateCanceled:
		return "canceled"
	case a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired:
		return "input-required"
	}
	return "unknown"
}

func v01StatusOf(s *a2a.TaskStatus) *v01Status {
	out := &v01Status{State: v01StateOf(s.State)}
	if s.Message != nil {
		out.Message = v01MessageOf(s.Message)
	}
	if !s.Timestamp.IsZero() {
		out.Timestamp = timestamp(s.Timestamp)
	}
	return out
}

// timestamp is the form of 1.0, which every version reads.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func v01MessageOf(m *a2a.Message) *v01Message {
	role := "user"
	if m.Role == a2a.RoleAgent {
		role = "agent"
	}
	return &v01Message{Role: role, Parts: v01PartsOf(m.Parts), Metadata: m.Metadata}
}

func v01ArtifactOf(a *a2a.Artifact, index int) *v01Artifact {
	return &v01Artifact{
		Name: a.Name, Description: a.Description, Parts: v01PartsOf(a.Parts), Index: index,
		Metadata: withMember(a.Metadata, "artifactId", appendText(nil, a.ArtifactID)),
	}
}

func v01PartsOf(parts []*a2a.Part) []*v01Part {
	out := make([]*v01Part, len(parts))
	for i, p := range parts {
		out[i] = v01PartOf(p)
	}
	return out
}

func v01PartOf(p *a2a.Part) *v01Part {
	out := &v01Part{Type: "text", Metadata: p.Metadata}
	switch p.Kind {
	case a2a.PartRaw:
		raw := p.Raw
		if raw == nil {
			raw = []byte{} // an empty file, not none
		}
		out.Type, out.File = "file", &v01File{Name: p.Filename, MimeType: p.MediaType, Bytes: &raw}
	case a2a.PartURL:
		out.Type, out.File = "file", &v01File{Name: p.Filename, MimeType: p.MediaType, URI: p.URL}
	case a2a.PartData:
		out.Type = "data"
		out.Data, out.Metadata = wrapData(p)
		out.Metadata = mimeMetadata(out.Metadata, p.MediaType)
	default:
		out.Text = &p.Text
		out.Metadata = mimeMetadata(out.Metadata, p.MediaType)
	}
	return out
}
