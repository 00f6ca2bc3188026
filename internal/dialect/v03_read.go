package dialect

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

func (o *object) v03Task() *a2a.Task {
	t := &a2a.Task{
		ID: o.text("id"), ContextID: o.text("contextId"), Status: o.object("status").v03Status(), Metadata: o.json("metadata"),
	}
	o.each(func(in *object) { t.Artifacts = append(t.Artifacts, in.v03Artifact()) }, "artifacts")
	o.each(func(in *object) { t.History = append(t.History, in.v03Message()) }, "history")
	return t
}

func (o *object) v03Status() a2a.TaskStatus {
	if o == nil {
		return a2a.TaskStatus{}
	}
	s := a2a.TaskStatus{State: o.state("state"), Timestamp: o.time("timestamp").UTC().Truncate(time.Millisecond)}
	if m := o.object("message", "update"); m != nil {
		s.Message = m.v03Answer()
	}
	return s
}

func (o *object) v03Message() *a2a.Message {
	return &a2a.Message{
		MessageID: o.text("messageId"), ContextID: o.text("contextId"), TaskID: o.text("taskId"),
		Role: o.role("role"), Parts: o.parts(), Metadata: o.json("metadata"),
		Extensions: o.texts("extensions"), ReferenceTaskIDs: o.texts("referenceTaskIds"),
	}
}

// v03Answer reads a message that can only be the agent's: samples of 0.3 omit its role.
func (o *object) v03Answer() *a2a.Message {
	m := o.v03Message()
	m.Role = cmp.Or(m.Role, a2a.RoleAgent)
	return m
}

func (o *object) v03Artifact() *a2a.Artifact {
	if o == nil {
		return nil
	}
	return &a2a.Artifact{
		ArtifactID: o.text("artifactId"), Name: o.text("name"), Description: o.text("description"),
		Parts: o.parts(), Metadata: o.json("metadata"), Extensions: o.texts("extensions"),
	}
}

// v03Element reads a result of message/send or an event: wrapped, as in the proto form;
// by its kind; or, without either, by its members. It is nil if it is none of these.
func (o *object) v03Element() *a2a.StreamResponse {
	kind, in := o.text("kind"), o
	if kind == "" {
		for _, k := range []string{"task", "message", "msg", "statusUpdate", "artifactUpdate"} {
			if inner, _ := o.find([]string{k}); len(inner) > 0 && inner[0] == '{' {
				kind, in = k, o.object(k)
				break
			}
		}
	}
	switch {
	case kind == "":
		kind = o.v03Kind()
	case kind == "msg":
		kind = "message"
	}
	switch kind {
	case "task":
		return &a2a.StreamResponse{Task: in.v03Task()}
	case "message":
		return &a2a.StreamResponse{Message: in.v03Answer()}
	case "status-update", "statusUpdate":
		return &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{
			TaskID: in.text("taskId"), ContextID: in.text("contextId"), Status: in.object("status").v03Status(), Metadata: in.json("metadata"),
		}}
	case "artifact-update", "artifactUpdate":
		return &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
			TaskID: in.text("taskId"), ContextID: in.text("contextId"), Artifact: in.object("artifact").v03Artifact(),
			Append: in.truth("append"), LastChunk: in.truth("lastChunk"), Metadata: in.json("metadata"),
		}}
	}
	return nil
}

// v03Kind returns the kind of an object that does not state it.
func (o *object) v03Kind() string {
	switch {
	case o.has("artifact"):
		return "artifact-update"
	case o.has("status") && (o.has("taskId") || o.has("final")):
		return "status-update"
	case o.has("status"):
		return "task"
	case o.has("parts", "content", "messageId"):
		return "message"
	}
	return ""
}

// v03Webhook reads a TaskPushNotificationConfig in any of the shapes that
// requests and answers have: with the config in a member, inside of a
// CreateTaskPushNotificationConfigRequest, or bare.
func (o *object) v03Webhook() *a2a.TaskPushNotificationConfig {
	outer := o
	if in := o.object("config"); in != nil {
		outer = in
	}
	inner := outer
	if in := outer.object("pushNotificationConfig"); in != nil {
		inner = in
	}
	c := inner.v03Config()
	if c.ID == "" {
		c.ID = o.text("configId")
	}
	for _, in := range []*object{o, outer} {
		task, id := cutWebhookName(in.text("name"), c.ID)
		c.ID = cmp.Or(c.ID, id)
		c.TaskID = cmp.Or(c.TaskID, in.text("taskId"), cutTaskName(in.text("parent")), task)
	}
	return c
}

// v03Config reads a PushNotificationConfig.
func (o *object) v03Config() *a2a.TaskPushNotificationConfig {
	return &a2a.TaskPushNotificationConfig{
		ID: o.text("id"), URL: o.text("url"), Token: a2a.Secret(o.text("token")), Authentication: o.v0xAuthentication(),
	}
}

// data reads the value of a data part. In the proto form it is a DataPart, unless a
// kind shows that the sender uses the TS form.
func (o *object) data() a2a.JSON {
	raw := a2a.JSON(bytes.Clone(o.members.get("data")))
	if o.faults.form != formProto || o.has("kind", "type") {
		return raw
	}
	wrapped := membersOf(raw).unique()
	if len(wrapped) != 1 || !bytes.HasPrefix(wrapped["data"], []byte{'{'}) {
		return raw
	}
	return a2a.JSON(wrapped["data"])
}

// undouble returns the content of fileWithBytes. Peers in Python put the base64 text
// into the field where others put the bytes, so that there are two layers. It removes
// the second one if the content is strict base64 and hardly meant to be: in a file that
// may be text, if it decodes to plain text; in any other file, if it is padded or at
// least 32 bytes long. A text file that is the base64 of a text is lost to that.
func undouble(b []byte, mediaType string) []byte {
	if len(b) == 0 || len(b)%4 != 0 {
		return b
	}
	inner := make([]byte, base64.StdEncoding.DecodedLen(len(b)))
	n, err := base64.StdEncoding.Strict().Decode(inner, b)
	if err != nil || bytes.ContainsAny(b, "\r\n") {
		return b
	}
	inner = inner[:n]
	if textual(mediaType) && !plainText(inner) {
		return b
	}
	if !textual(mediaType) && len(b) < 32 && b[len(b)-1] != '=' {
		return b
	}
	return inner
}

// textual reports whether a file of a media type is text, or may be.
func textual(mediaType string) bool {
	switch media, _, _ := strings.Cut(mediaType, "/"); media {
	case "image", "audio", "video", "font", "model":
		return mediaType == "image/svg+xml"
	}
	return mediaType != "application/pdf" && mediaType != "application/zip" && mediaType != "application/gzip"
}

// plainText reports whether b is text that people or programs write.
func plainText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f
	}) < 0
}
