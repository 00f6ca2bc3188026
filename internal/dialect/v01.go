package dialect

import (
	"slices"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
)

// v01Codec is version 0.1 on JSON-RPC, its only binding. The client names the task
// (params.id, which is Message.TaskID here), a context is a session, and artifacts have
// numbers instead of the names of 1.0: their position in the task.
//
// It cannot carry, in either direction:
//
//   - of messages: the id, extensions and referenceTaskIds. A server makes up ids; a
//     client derives them from role and content, so that the same words have the same
//     id whenever they are read.
//   - of parts: the media type of text and data, which goes into metadata.mimeType.
//     Data that is no object becomes the member value of one, with the mark
//     data_part_compat in the metadata, and is unwrapped again; nobody else uses the
//     mark.
//   - of artifacts: extensions, and metadata that is empty or has a member artifactId,
//     where the id is kept. Without it the id is index-N.
//   - of requests: the tenant, returnImmediately (a send waits until the task stops),
//     ifGenerationMatch, currentGeneration, and the difference between a history of any
//     length and none: by default there is no history.
//   - of a task: the generation, the difference between rejected and failed, and
//     between auth-required and input-required. A server repeats the message of the
//     status as the last one of the history; the client removes it there.
//   - of streams: the Task and the Message element. A Task becomes a status event and
//     an event for each artifact; its history and metadata are lost. A Message becomes
//     a status event: completed. Events do not name their context, which a client knows
//     only if it chose it.
//   - of webhooks: the id, since a task has one webhook: the id is the task's. If a
//     client of 0.1 names several schemes, the first counts.
//   - ListTasks, the list and the removal of webhooks, and extended cards.
type v01Codec struct{}

// Lax reports whether requests of a dialect may lack jsonrpc and id: the types of the
// reference implementation of 0.1 had defaults for both, and the first descriptions of
// its methods omit them.
func (d Dialect) Lax() bool { return d == V01 || d == V0x }

func (v01Codec) DecodeRequest(op Op, doc []byte) (any, error) {
	return readRequest(form01, doc, "params", func(o *object) any { return o.v01Request(op) })
}

func (o *object) v01Request(op Op) any {
	switch id := o.text("id"); op {
	case SendMessage, SendStreamingMessage:
		return o.v01Send(id)
	case GetTask:
		return &a2a.GetTaskRequest{ID: id, HistoryLength: v01HistoryLength(o)}
	case CancelTask:
		return &a2a.CancelTaskRequest{ID: id, Metadata: o.json("metadata")}
	case SubscribeToTask:
		return &a2a.SubscribeToTaskRequest{ID: id, Legacy: &a2a.Legacy{Version: "0.1", FinishedToo: true}}
	case CreateTaskPushNotificationConfig:
		c := o.object("pushNotificationConfig").v01Webhook(id)
		if !o.has("pushNotificationConfig") {
			o.bad("pushNotificationConfig", "is required")
		}
		if c != nil {
			c.Legacy = &a2a.Legacy{Version: "0.1"}
		}
		return c
	case GetTaskPushNotificationConfig:
		return &a2a.GetTaskPushNotificationConfigRequest{TaskID: id, ID: id, Legacy: &a2a.Legacy{Version: "0.1"}}
	}
	panic("dialect: version 0.1 has no " + op.String())
}

func (v01Codec) field(op Op, name string) string {
	switch op {
	case SendMessage, SendStreamingMessage:
		return renamed(name, "message.taskId", "id", "message.contextId", "sessionId",
			"configuration.taskPushNotificationConfig.", "pushNotification.", "configuration.", "")
	case CreateTaskPushNotificationConfig: // a task has one webhook, without an id of its own
		return renamed(name, "taskId", "id", "id", "id", "", "pushNotificationConfig.")
	}
	return renamed(name, "taskId", "id")
}

func (o *object) v01Send(id string) *a2a.SendMessageRequest {
	if id == "" && !slices.ContainsFunc(o.faults.list, func(v a2a.FieldViolation) bool { return v.Field == "id" }) {
		o.bad("id", "is required: the client names the task")
	}
	r := &a2a.SendMessageRequest{
		Configuration: &a2a.SendMessageConfiguration{
			AcceptedOutputModes: o.texts("acceptedOutputModes"), // of the reference implementation
			HistoryLength:       v01HistoryLength(o),
		},
		Metadata: o.json("metadata"),
		Legacy:   &a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true},
	}
	if m := o.object("message"); m != nil {
		r.Message = &a2a.Message{
			MessageID: uuid.Must(uuid.NewV7()).String(),
			TaskID:    id,
			ContextID: o.text("sessionId"),
			Role:      m.role("role"),
			Parts:     m.parts(),
			Metadata:  m.json("metadata"),
		}
	}
	if c := o.object("pushNotification").v01Webhook(id); c != nil {
		c.TaskID = "" // the message says it
		r.Configuration.TaskPushNotificationConfig = c
	}
	return r
}

// v01HistoryLength reads how much history is wanted. In 0.1, a missing, null or
// negative length means none.
func v01HistoryLength(o *object) *int32 {
	n := o.int32("historyLength")
	if n == nil || *n < 0 {
		n = new(int32)
	}
	return n
}

// v01Webhook reads a task's only webhook; nil if there is none.
func (o *object) v01Webhook(task string) *a2a.TaskPushNotificationConfig {
	if o == nil {
		return nil
	}
	c := &a2a.TaskPushNotificationConfig{ID: task, TaskID: task, URL: o.text("url"), Token: a2a.Secret(o.text("token"))}
	c.Authentication = o.v0xAuthentication()
	return c
}

// v0xAuthentication reads how to authenticate to a webhook; nil if that is empty, as
// objects of protocol buffers may be.
func (o *object) v0xAuthentication() *a2a.AuthenticationInfo {
	a := o.object("authentication")
	if a == nil {
		return nil
	}
	scheme, credentials := a.firstScheme(), a.text("credentials")
	if scheme == "" && credentials == "" {
		return nil
	}
	return &a2a.AuthenticationInfo{Scheme: scheme, Credentials: a2a.Secret(credentials)}
}

// firstScheme reads the first of a list of schemes, because 1.0 has only one; a sample
// has a string instead.
func (o *object) firstScheme() string {
	if raw, _ := o.find([]string{"schemes"}); len(raw) > 0 && raw[0] == '"' {
		return o.text("schemes")
	}
	if list := o.texts("schemes"); len(list) > 0 {
		return list[0]
	}
	return ""
}

func (v01Codec) AppendRequest(dst []byte, op Op, req any) []byte {
	w := oldWriter{jsonWriter{dst}, form01}
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		w.v01Send(r)
		return w.b
	case *a2a.TaskPushNotificationConfig:
		w.taskWebhook(r)
		return w.b
	case *a2a.GetTaskRequest:
		w.v01Begin(r.ID)
		w.optInt("historyLength", positive(r.HistoryLength))
	case *a2a.CancelTaskRequest:
		w.v01Begin(r.ID)
		w.optRaw("metadata", r.Metadata)
	case *a2a.SubscribeToTaskRequest:
		w.v01Begin(r.ID)
	case *a2a.GetTaskPushNotificationConfigRequest:
		w.v01Begin(r.TaskID)
	default:
		panic("dialect: version 0.1 has no " + op.String())
	}
	w.close('}')
	return w.b
}

func (v01Codec) AppendResult(dst []byte, op Op, req, result any) []byte {
	w := oldWriter{jsonWriter{dst}, form01}
	switch r := result.(type) {
	case *a2a.SendMessageResponse:
		if r.Message != nil {
			id, _ := v01Asked(req)
			w.v01Task(v01Answer(id, r.Message), nil)
			break
		}
		var n *int32
		if in := req.(*a2a.SendMessageRequest); in.Configuration != nil {
			n = in.Configuration.HistoryLength
		}
		w.v01Task(r.Task, n)
	case *a2a.Task:
		var n *int32
		if in, ok := req.(*a2a.GetTaskRequest); ok {
			n = in.HistoryLength
		}
		w.v01Task(r, n)
	case *a2a.TaskPushNotificationConfig:
		w.taskWebhook(r)
	default:
		panic("dialect: version 0.1 has no " + op.String())
	}
	return w.b
}
