package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/a2a"
)

// dice makes values of the model with all that it can say.
type dice struct{ *rand.Rand }

func oneOf[T any](r dice, values ...T) T { return values[r.IntN(len(values))] }

func (r dice) text() string {
	return oneOf(r, "", "a", "<b>&", "日本語 ✓", "line\nbreak\u2028", `"quoted\"`, fmt.Sprint(r.Int()))
}

func (r dice) object() a2a.JSON {
	return a2a.JSON(oneOf(r, "", "", `{}`, `{"a":1}`, `{"z":null,"a":[1.0,12345678901234567890]}`, `{"artifactId":"mine","b":{}}`,
		`{"b":1,"artifactId":{}}`, `{"data_part_compat":true}`, `{"mimeType":"x/y"}`, `{"<>":"<>"}`))
}

func (r dice) parts() (parts []*a2a.Part) {
	for range 1 + r.IntN(4) {
		var p *a2a.Part
		switch r.IntN(4) {
		case 0:
			p = a2a.TextPart(r.text())
		case 1:
			p = a2a.RawPart([]byte(r.text()), oneOf(r, "", "image/png"), r.text())
		case 2:
			p = a2a.URLPart("https://x.org/"+r.text(), oneOf(r, "", "image/png"), r.text())
		default:
			p = a2a.DataPart(a2a.JSON(oneOf(r, `{}`, `{"b":1,"a":[]}`, `{"value":1}`, `null`, `[1,{"x":null}]`, `"s"`, `1e400`, `false`)))
		}
		if p.Kind == a2a.PartText || p.Kind == a2a.PartData {
			p.MediaType = oneOf(r, "", "", "text/markdown")
		}
		p.Metadata = r.object()
		parts = append(parts, p)
	}
	return parts
}

func (r dice) message(role a2a.Role) *a2a.Message {
	return &a2a.Message{
		MessageID: fmt.Sprint(r.Int()), TaskID: "t1", ContextID: "c1", Role: role, Parts: r.parts(), Metadata: r.object(),
		Extensions: oneOf(r, nil, []string{"urn:x"}), ReferenceTaskIDs: oneOf(r, nil, []string{"t0"}),
	}
}

func (r dice) status() a2a.TaskStatus {
	s := a2a.TaskStatus{State: oneOf(r, append(a2a.TaskStates(), a2a.TaskStateUnspecified)...)}
	if r.IntN(2) == 0 {
		s.Timestamp = time.UnixMilli(r.Int64N(4e12)).UTC()
	}
	if r.IntN(2) == 0 {
		s.Message = r.message(a2a.RoleAgent)
	}
	return s
}

func (r dice) artifact(id string) *a2a.Artifact {
	return &a2a.Artifact{
		ArtifactID: id, Name: r.text(), Description: r.text(), Parts: r.parts(), Metadata: r.object(), Extensions: oneOf(r, nil, []string{"urn:x"}),
	}
}

func (r dice) task() *a2a.Task {
	t := &a2a.Task{ID: "t1", ContextID: "c1", Status: r.status(), Metadata: r.object(), Generation: r.Int64N(9), Version: oneOf[a2a.Version](r, "", "0.1", "0.3")}
	for i := range r.IntN(4) {
		t.Artifacts = append(t.Artifacts, r.artifact(fmt.Sprintf("%s-%d", oneOf(r, "a", "index", `"é`), i)))
	}
	for range r.IntN(4) {
		t.History = append(t.History, r.message(oneOf(r, a2a.RoleUser, a2a.RoleAgent)))
	}
	return t
}

func (r dice) webhook(taskID string) *a2a.TaskPushNotificationConfig {
	c := &a2a.TaskPushNotificationConfig{Tenant: oneOf(r, "", "acme"), ID: r.text(), TaskID: taskID, URL: "https://x.org", Token: a2a.Secret(r.text())}
	if r.IntN(2) == 0 {
		c.Authentication = &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: a2a.Secret(r.text())}
	}
	return c
}

func (r dice) send() *a2a.SendMessageRequest {
	req := &a2a.SendMessageRequest{Tenant: oneOf(r, "", "acme"), Message: r.message(a2a.RoleUser), Metadata: r.object()}
	if r.IntN(4) > 0 {
		n, g := int32(r.IntN(5)), r.Int64N(5)
		req.Configuration = &a2a.SendMessageConfiguration{
			AcceptedOutputModes: oneOf(r, nil, []string{"text", "a/b"}), HistoryLength: oneOf(r, nil, &n), ReturnImmediately: r.IntN(2) == 0,
			IfGenerationMatch: oneOf(r, nil, &g), TaskPushNotificationConfig: oneOf(r, nil, r.webhook("")),
		}
	}
	return req
}

// v01Keeps changes a value as version 0.1 does: it drops what the comment of v01Codec
// lists, and no more.
type v01Keeps struct{}

func (k v01Keeps) parts(parts []*a2a.Part) []*a2a.Part {
	out := make([]*a2a.Part, len(parts))
	for i, p := range parts {
		c := *p
		if p.Kind == a2a.PartText || p.Kind == a2a.PartData {
			if !bytes.Contains(c.Metadata, []byte(`"mimeType"`)) && c.MediaType != "" {
				c.Metadata = a2a.JSON(addTo(c.Metadata, `"mimeType":"`+c.MediaType+`"`))
			}
			c.MediaType = ""
		}
		marked := string(p.Metadata) == `{"data_part_compat":true}`
		switch object := p.Kind == a2a.PartData && p.Data[0] == '{'; {
		case p.Kind != a2a.PartData:
		case !object:
			c.Metadata = withoutMember(c.Metadata, compatData) // our member replaced theirs
			c.Metadata = nothing(c.Metadata)
		case marked && string(p.Data) == `{"value":1}`:
			c.Data, c.Metadata = a2a.JSON(`1`), withoutMember(c.Metadata, compatData)
		}
		out[i] = &c
	}
	return out
}

// nothing returns nil for an empty object, which is lost when a member is stored in it
// and removed.
func nothing(obj a2a.JSON) a2a.JSON {
	if string(obj) == `{}` {
		return nil
	}
	return obj
}

func addTo(obj a2a.JSON, member string) string {
	if len(obj) <= 2 {
		return "{" + member + "}"
	}
	return "{" + member + "," + string(obj[1:])
}

func (k v01Keeps) message(m *a2a.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	return &a2a.Message{TaskID: m.TaskID, ContextID: m.ContextID, Role: m.Role, Parts: k.parts(m.Parts), Metadata: m.Metadata}
}

func (k v01Keeps) status(s a2a.TaskStatus) a2a.TaskStatus {
	switch s.State {
	case a2a.TaskStateRejected:
		s.State = a2a.TaskStateFailed
	case a2a.TaskStateAuthRequired:
		s.State = a2a.TaskStateInputRequired
	}
	s.Message = k.message(s.Message)
	return s
}

func (k v01Keeps) artifact(a *a2a.Artifact) *a2a.Artifact {
	return &a2a.Artifact{
		ArtifactID: a.ArtifactID, Name: a.Name, Description: a.Description, Parts: k.parts(a.Parts), Metadata: nothing(withoutMember(a.Metadata, "artifactId")),
	}
}

func (k v01Keeps) task(t *a2a.Task) *a2a.Task {
	out := &a2a.Task{ID: t.ID, ContextID: t.ContextID, Status: k.status(t.Status), Metadata: t.Metadata}
	for _, a := range t.Artifacts {
		out.Artifacts = append(out.Artifacts, k.artifact(a))
	}
	for _, m := range t.History {
		out.History = append(out.History, k.message(m))
	}
	return out
}

func (k v01Keeps) webhook(c *a2a.TaskPushNotificationConfig, id string) *a2a.TaskPushNotificationConfig {
	if c == nil {
		return nil
	}
	return &a2a.TaskPushNotificationConfig{ID: id, TaskID: c.TaskID, URL: c.URL, Token: c.Token, Authentication: c.Authentication}
}

func (k v01Keeps) send(r *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	out := &a2a.SendMessageRequest{
		Message: k.message(r.Message), Metadata: r.Metadata, Configuration: &a2a.SendMessageConfiguration{HistoryLength: new(int32)},
		Legacy: &a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true},
	}
	if c := r.Configuration; c != nil {
		out.Configuration.AcceptedOutputModes = c.AcceptedOutputModes
		out.Configuration.TaskPushNotificationConfig = k.webhook(c.TaskPushNotificationConfig, r.Message.TaskID)
		if c.HistoryLength != nil {
			out.Configuration.HistoryLength = c.HistoryLength
		}
	}
	return out
}

// plainIDs clears the ids that messages get, which v01Keeps cannot know.
func plainIDs(ms ...*a2a.Message) {
	for _, m := range ms {
		if m != nil {
			m.MessageID = ""
		}
	}
}

// byMeaning compares raw values by what they mean.
var byMeaning = cmp.Options{
	cmp.FilterValues(func(a, b a2a.JSON) bool { return len(a)+len(b) > 0 }, cmp.Transformer("JSON", func(j a2a.JSON) any {
		var v any
		d := json.NewDecoder(bytes.NewReader(j))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return string(j)
		}
		return v
	})),
	cmpopts.EquateEmpty(),
}

// decode(encode(x)) is x except for the losses in v01Codec's comment.
func TestV01LosesWhatItSays(t *testing.T) {
	var c v01Codec
	var k v01Keeps
	check := func(what string, got, want any, doc []byte) {
		if diff := cmp.Diff(want, got, byMeaning); diff != "" {
			t.Fatalf("%s (-want +got):\n%s\nin %s", what, diff, doc)
		}
	}
	for seed := range uint64(many(300)) {
		r := dice{rand.New(rand.NewPCG(1, seed))}

		send := r.send()
		doc := c.AppendRequest(nil, SendMessage, send)
		got := readV01[*a2a.SendMessageRequest](t, SendMessage, string(doc))
		plainIDs(got.Message)
		check("request", got, k.send(send), doc)

		task, all := r.task(), int32(100)
		get := &a2a.GetTaskRequest{ID: "t1", HistoryLength: &all}
		doc = c.AppendResult(nil, GetTask, get, task)
		back := readV01Task(t, GetTask, get, string(doc))
		plainIDs(append(back.History, back.Status.Message)...)
		check("task", back, k.task(task), doc)

		artifact := r.artifact("a")
		u := &a2a.TaskArtifactUpdateEvent{
			TaskID: "t1", ContextID: "c1", Artifact: artifact, Append: r.IntN(2) == 0, LastChunk: r.IntN(2) == 0, Metadata: r.object(), Generation: 3,
		}
		doc, _ = c.Events(SendStreamingMessage, v01Ask()).Append(nil, &a2a.StreamResponse{ArtifactUpdate: u}, 0)
		kept := *u
		kept.Artifact, kept.Generation = k.artifact(artifact), 0
		check("artifact", readV01Events(t, string(doc)), []*a2a.StreamResponse{{ArtifactUpdate: &kept}}, doc)

		s := &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: r.status(), Metadata: r.object(), Generation: 3}
		doc, _ = c.Events(SendStreamingMessage, v01Ask()).Append(nil, &a2a.StreamResponse{StatusUpdate: s}, 0)
		els := readV01Events(t, string(doc))
		plainIDs(els[0].StatusUpdate.Status.Message)
		check("status", els, []*a2a.StreamResponse{{StatusUpdate: &a2a.TaskStatusUpdateEvent{
			TaskID: "t1", ContextID: "c1", Status: k.status(s.Status), Metadata: s.Metadata,
		}}}, doc)

		hook := r.webhook("t1")
		doc = c.AppendRequest(nil, CreateTaskPushNotificationConfig, hook)
		asked := k.webhook(hook, "t1")
		asked.Legacy = &a2a.Legacy{Version: "0.1"}
		check("webhook", readV01[*a2a.TaskPushNotificationConfig](t, CreateTaskPushNotificationConfig, string(doc)), asked, doc)
		doc = c.AppendResult(nil, CreateTaskPushNotificationConfig, hook, hook)
		res, err := c.DecodeResult(CreateTaskPushNotificationConfig, hook, doc)
		if err != nil {
			t.Fatal(err)
		}
		check("stored webhook", res, k.webhook(hook, "t1"), doc)
	}
}

// FuzzV01 reads anything as anything. A value that was understood is written,
// read again and written as the same.
func FuzzV01(f *testing.F) {
	f.Add([]byte(`{"id":"t1","sessionId":"s","message":{"role":"user","data":[{"type":"text","text":"a"}]},"pushNotification":{"url":"u","authentication":{"schemes":"jwt"}},"historyLength":3}`))
	f.Add([]byte(`{"id":1,"status":{"state":"working","message":{"parts":[{"type":"file","file":{"data":"AQI="}}]},"timestamp":"2025-04-02T16:59:25.331844"},"history":[{"parts":[]}],"artifacts":[{"index":3,"metadata":{"artifactId":"a"},"parts":[{"data":{"value":[1]},"metadata":{"data_part_compat":true}}]}]}`))
	f.Add([]byte(`{"id":1,"artifact":[{"parts":[{"text":"a"}],"append":true}],"pushNotificationConfig":{}}`))
	f.Add([]byte(`{"state":"completed","final":true}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !utf8.Valid(doc) {
			return // refused before the codec
		}
		var c v01Codec
		for _, op := range []Op{SendMessage, GetTask, CancelTask, SubscribeToTask, CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig} {
			req, err := c.DecodeRequest(op, doc)
			if r, ok := req.(*a2a.SendMessageRequest); err != nil || ok && r.Message == nil {
				continue // without a message there is no task
			}
			first := c.AppendRequest(nil, op, req)
			again, err := c.DecodeRequest(op, first)
			if err != nil {
				t.Fatalf("%s is not read again: %v", first, err)
			}
			stable(t, first, c.AppendRequest(nil, op, again))
		}
		many := int32(1 << 30)
		ask := v01Ask()
		ask.Configuration = &a2a.SendMessageConfiguration{HistoryLength: &many}
		if res, err := c.DecodeResult(SendMessage, ask, doc); err == nil {
			first := c.AppendResult(nil, SendMessage, ask, res)
			again, err := c.DecodeResult(SendMessage, ask, first)
			if err != nil {
				t.Fatalf("%s is not read again: %v", first, err)
			}
			stable(t, first, c.AppendResult(nil, SendMessage, ask, again))
		}
		hook := &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t1"}
		if res, err := c.DecodeResult(GetTaskPushNotificationConfig, hook, doc); err == nil {
			first := c.AppendResult(nil, GetTaskPushNotificationConfig, hook, res)
			again, err := c.DecodeResult(GetTaskPushNotificationConfig, hook, first)
			if err != nil {
				t.Fatalf("%s is not read again: %v", first, err)
			}
			stable(t, first, c.AppendResult(nil, GetTaskPushNotificationConfig, hook, again))
		}
		els, err := c.DecodeEvent(SendStreamingMessage, ask, doc)
		if err != nil {
			return
		}
		for _, el := range els {
			for _, first := range written(c.Events(SendStreamingMessage, ask), el) {
				again, err := c.DecodeEvent(SendStreamingMessage, ask, []byte(first))
				if err != nil || len(again) != 1 {
					t.Fatalf("%s is read again as %v, %v", first, again, err)
				}
				if el.ArtifactUpdate != nil {
					stable(t, []byte(first), []byte(written(c.Events(SendStreamingMessage, ask), again...)[0]))
				}
			}
		}
	})
}

func stable(t *testing.T, first, second []byte) {
	t.Helper()
	if !bytes.Equal(first, second) {
		t.Fatalf("written as\n     %s\nthen %s", first, second)
	}
}

func BenchmarkV01Chunk(b *testing.B) {
	e := v01Codec{}.Events(SendStreamingMessage, v01Ask())
	el := chunk("a", "a few words of the answer", true)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = e.Append(dst[:0], el, 0)
	}
}

func BenchmarkV01Send(b *testing.B) {
	doc := []byte(`{"id":"t1","sessionId":"s1","message":{"role":"user","parts":[{"type":"text","text":"a few words of a question"}]},"metadata":{}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (v01Codec{}).DecodeRequest(SendMessage, doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkV01Task(b *testing.B) {
	task := dice{rand.New(rand.NewPCG(1, 7))}.task()
	req := &a2a.GetTaskRequest{ID: "t1"}
	doc := v01Codec{}.AppendResult(nil, GetTask, req, task)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			doc = v01Codec{}.AppendResult(doc[:0], GetTask, req, task)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (v01Codec{}).DecodeResult(GetTask, req, doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
