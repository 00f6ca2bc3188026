package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// v03Codec is versions 0.2 and 0.3.
type v03Codec struct {
	// proto is the form of HTTP+JSON and gRPC.
	proto bool
}

func (c v03Codec) DecodeRequest(op Op, doc []byte) (any, error) {
	if op == GetExtendedAgentCard {
		return new(a2a.GetExtendedAgentCardRequest), nil
	}
	o, err := readParams(op, doc)
	if err != nil {
		return nil, err
	}
	o.faults.proto = c.proto
	req := c.request(op, o)
	if err := o.faults.err(); err != nil {
		return nil, err
	}
	return req, nil
}

func (c v03Codec) request(op Op, o *object) any {
	switch op {
	case SendMessage, SendStreamingMessage:
		return c.send(o)
	case GetTask:
		return &a2a.GetTaskRequest{ID: o.v03ID("name"), HistoryLength: v03HistoryLength(o)}
	case ListTasks:
		return o.v03ListTasks()
	case CancelTask:
		return &a2a.CancelTaskRequest{ID: o.v03ID("name"), Metadata: o.json("metadata")}
	case SubscribeToTask:
		return &a2a.SubscribeToTaskRequest{ID: o.v03ID("name"), Legacy: &a2a.Legacy{Version: "0.3", FinishedToo: true}}
	case CreateTaskPushNotificationConfig:
		w := o.v03Webhook()
		if w.ID == "" {
			w.ID = w.TaskID
		}
		return w
	case GetTaskPushNotificationConfig:
		task, id := o.v03WebhookKey()
		if id == "" {
			id = task
		}
		return &a2a.GetTaskPushNotificationConfigRequest{TaskID: task, ID: id}
	case ListTaskPushNotificationConfigs:
		r := &a2a.ListTaskPushNotificationConfigsRequest{TaskID: o.v03ID("parent"), PageToken: o.text("pageToken")}
		if n := o.int32("pageSize"); n != nil {
			r.PageSize = *n
		}
		return r
	case DeleteTaskPushNotificationConfig:
		task, id := o.v03WebhookKey()
		return &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: task, ID: id}
	}
	panic("dialect: DecodeRequest of " + op.String())
}

func (c v03Codec) send(o *object) *a2a.SendMessageRequest {
	r := &a2a.SendMessageRequest{Metadata: o.json("metadata"), Legacy: &a2a.Legacy{Version: "0.3"}}
	if m := o.object("message", "request"); m != nil {
		r.Message = m.v03Message()
		if r.Message.MessageID == "" {
			r.Message.MessageID = o.text("messageId") // where samples of 0.3 have it
		}
	}
	in := o.object("configuration")
	if in == nil {
		return r
	}
	blocking := in.bool("blocking")
	r.Configuration = &a2a.SendMessageConfiguration{
		AcceptedOutputModes: in.texts("acceptedOutputModes"),
		HistoryLength:       v03HistoryLength(in),
		// Protocol buffers do not write what is false.
		ReturnImmediately: blocking == nil && c.proto || blocking != nil && !*blocking,
	}
	if p := in.object("pushNotificationConfig", "pushNotification"); p != nil {
		r.Configuration.TaskPushNotificationConfig = p.v03Config()
	}
	return r
}

// v03ID reads the id of a task, or its resource name.
func (o *object) v03ID(name string) string {
	if id := o.text("id"); id != "" {
		return id
	}
	return cutTaskName(o.text(name))
}

func (o *object) v03WebhookKey() (task, id string) {
	id = o.text("pushNotificationConfigId")
	if task = o.text("id"); task == "" {
		task, id = cutWebhookName(o.text("name"), id)
	}
	return task, id
}

// v03HistoryLength reads how much history is wanted. 0 is all of it, since
// protocol buffers cannot tell it from nothing, and what is less is as good.
func v03HistoryLength(o *object) *int32 {
	if n := o.int32("historyLength"); n != nil && *n > 0 {
		return n
	}
	return nil
}

func (o *object) v03ListTasks() *a2a.ListTasksRequest {
	r := &a2a.ListTasksRequest{
		ContextID: o.text("contextId"), PageToken: o.text("pageToken"), HistoryLength: v03HistoryLength(o),
		StatusTimestampAfter: o.time("lastUpdatedAfter", "statusTimestampAfter"), IncludeArtifacts: o.truth("includeArtifacts"),
	}
	if raw, _ := o.find([]string{"status"}); string(raw) != `""` {
		r.Status = o.state("status")
	}
	if n := o.int32("pageSize"); n != nil && *n != 0 {
		r.PageSize = n
	}
	return r
}

func (c v03Codec) AppendRequest(dst []byte, op Op, req any) []byte {
	w := v03Writer{jsonWriter{dst}, c.proto}
	w.open('{')
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		w.send(r)
	case *a2a.GetTaskRequest:
		w.taskID(r.ID)
		w.v03HistoryLength(r.HistoryLength)
	case *a2a.ListTasksRequest:
		w.listTasks(r)
	case *a2a.CancelTaskRequest:
		w.taskID(r.ID)
		if !c.proto {
			w.optRaw("metadata", r.Metadata)
		}
	case *a2a.SubscribeToTaskRequest:
		w.taskID(r.ID)
	case *a2a.TaskPushNotificationConfig:
		w.createWebhook(r)
	case *a2a.GetTaskPushNotificationConfigRequest:
		w.webhookKey(r.TaskID, r.ID)
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		w.webhookKey(r.TaskID, r.ID)
	case *a2a.ListTaskPushNotificationConfigsRequest:
		if !c.proto {
			w.text("id", r.TaskID)
			break
		}
		w.text("parent", taskName(r.TaskID))
		if r.PageSize != 0 {
			w.int("pageSize", r.PageSize)
		}
		w.optText("pageToken", r.PageToken)
	case *a2a.GetExtendedAgentCardRequest:
	default:
		panic("dialect: AppendRequest of " + op.String())
	}
	w.close('}')
	return w.b
}

func (w *v03Writer) taskID(id string) {
	if w.proto {
		w.text("name", taskName(id))
	} else {
		w.text("id", id)
	}
}

func (w *v03Writer) webhookKey(task, id string) {
	if w.proto {
		w.text("name", webhookName(task, id))
		return
	}
	w.text("id", task)
	w.text("pushNotificationConfigId", id)
}

func (w *v03Writer) createWebhook(c *a2a.TaskPushNotificationConfig) {
	if !w.proto {
		w.text("taskId", c.TaskID)
		w.webhook("pushNotificationConfig", c)
		return
	}
	w.text("parent", taskName(c.TaskID))
	w.text("configId", c.ID)
	w.key("config")
	w.taskWebhook(c)
}

// v03HistoryLength leaves out 0, which would be the whole history: what comes
// too much is cut off when it is read.
func (w *v03Writer) v03HistoryLength(n *int32) {
	if n != nil && *n > 0 {
		w.int("historyLength", *n)
	}
}

func (w *v03Writer) send(r *a2a.SendMessageRequest) {
	if r.Message != nil {
		w.key("message")
		w.message(r.Message)
	}
	conf := r.Configuration
	if conf == nil && w.proto {
		conf = new(a2a.SendMessageConfiguration) // which servers take for one that does not block
	}
	if conf != nil {
		w.object("configuration")
		w.optTexts("acceptedOutputModes", conf.AcceptedOutputModes)
		w.v03HistoryLength(conf.HistoryLength)
		w.bool("blocking", !conf.ReturnImmediately)
		if p := conf.TaskPushNotificationConfig; p != nil {
			name := "pushNotificationConfig"
			if w.proto {
				name = "pushNotification"
			}
			w.webhook(name, p)
		}
		w.close('}')
	}
	w.optRaw("metadata", r.Metadata)
}

func (w *v03Writer) listTasks(r *a2a.ListTasksRequest) {
	w.optText("contextId", r.ContextID)
	if r.Status != a2a.TaskStateUnspecified {
		w.state("status", r.Status)
	}
	w.optInt("pageSize", r.PageSize)
	w.optText("pageToken", r.PageToken)
	w.v03HistoryLength(r.HistoryLength)
	w.optTime("lastUpdatedAfter", r.StatusTimestampAfter)
	w.optBool("includeArtifacts", r.IncludeArtifacts)
}

func (c v03Codec) AppendResult(dst []byte, op Op, _, result any) []byte {
	w := v03Writer{jsonWriter{dst}, c.proto}
	switch r := result.(type) {
	case nil: // a delete
		if c.proto {
			return append(dst, "{}"...)
		}
		return append(dst, "null"...)
	case *a2a.SendMessageResponse:
		w.element(&a2a.StreamResponse{Task: r.Task, Message: r.Message}, false)
	case *a2a.Task:
		w.task(r)
	case *a2a.ListTasksResponse:
		w.open('{')
		list(&w.jsonWriter, "tasks", r.Tasks, w.task)
		w.text("nextPageToken", r.NextPageToken)
		w.int("pageSize", r.PageSize)
		w.int("totalSize", r.TotalSize)
		w.close('}')
	case *a2a.TaskPushNotificationConfig:
		w.taskWebhook(r)
	case *a2a.ListTaskPushNotificationConfigsResponse:
		w.webhooks(r)
	case *a2a.AgentCard:
		w.b = AppendCard(w.b, r, CardV03)
	default:
		panic("dialect: AppendResult of " + op.String())
	}
	return w.b
}

func (w *v03Writer) webhooks(r *a2a.ListTaskPushNotificationConfigsResponse) {
	if !w.proto {
		w.open('[')
		for _, c := range r.Configs {
			w.next()
			w.taskWebhook(c)
		}
		w.close(']')
		return
	}
	w.open('{')
	list(&w.jsonWriter, "configs", r.Configs, w.taskWebhook)
	w.optText("nextPageToken", r.NextPageToken)
	w.close('}')
}

func (c v03Codec) DecodeResult(op Op, req any, doc []byte) (any, error) {
	if op == DeleteTaskPushNotificationConfig {
		return nil, nil
	}
	if op == GetExtendedAgentCard {
		card, err := ParseCard(doc)
		if err != nil {
			return nil, unreadable(op, err)
		}
		return card, nil
	}
	o, err := v03Answer(op, doc)
	if err != nil {
		return nil, unreadable(op, err)
	}
	o.faults.proto = c.proto
	res := o.v03Result(op, req)
	if err := o.faults.err(); err != nil {
		return nil, unreadable(op, err)
	}
	return res, nil
}

// v03Answer opens an answer. Lists may be bare.
func v03Answer(op Op, doc []byte) (*object, error) {
	if s := strings.TrimLeft(string(doc[:min(len(doc), 64)]), " \t\r\n"); s == "" || s[0] != '[' {
		return readAnswer(doc)
	}
	switch op {
	case ListTasks:
		return readAnswer(wrap("tasks", doc))
	case ListTaskPushNotificationConfigs:
		return readAnswer(wrap("configs", doc))
	}
	return readAnswer(doc)
}

func (o *object) v03Result(op Op, req any) any {
	switch op {
	case SendMessage:
		el := o.v03Element()
		if el == nil || el.Task == nil && el.Message == nil {
			o.bad("result", "is neither a task nor a message")
			return nil
		}
		if in := req.(*a2a.SendMessageRequest); el.Task != nil && in.Configuration != nil {
			cutHistory(el.Task, in.Configuration.HistoryLength)
		}
		return &a2a.SendMessageResponse{Task: el.Task, Message: el.Message}
	case GetTask:
		t := o.v03Task()
		cutHistory(t, req.(*a2a.GetTaskRequest).HistoryLength)
		return t
	case CancelTask:
		return o.v03Task()
	case ListTasks:
		res := &a2a.ListTasksResponse{NextPageToken: o.text("nextPageToken")}
		o.each(func(in *object) {
			t := in.v03Task()
			cutHistory(t, req.(*a2a.ListTasksRequest).HistoryLength)
			res.Tasks = append(res.Tasks, t)
		}, "tasks")
		if n := o.int32("pageSize"); n != nil {
			res.PageSize = *n
		}
		if n := o.int32("totalSize"); n != nil {
			res.TotalSize = *n
		}
		return res
	case CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig:
		return o.v03Webhook()
	case ListTaskPushNotificationConfigs:
		res := &a2a.ListTaskPushNotificationConfigsResponse{NextPageToken: o.text("nextPageToken")}
		o.each(func(in *object) { res.Configs = append(res.Configs, in.v03Webhook()) }, "configs")
		return res
	}
	panic("dialect: DecodeResult of " + op.String())
}

// cutHistory keeps the last n messages, which the server was not asked for
// where n is 0.
func cutHistory(t *a2a.Task, n *int32) {
	if n != nil && *n >= 0 && int(*n) < len(t.History) {
		t.History = t.History[len(t.History)-int(*n):]
	}
	if len(t.History) == 0 {
		t.History = nil
	}
}

func (c v03Codec) DecodeEvent(op Op, _ any, doc []byte) ([]*a2a.StreamResponse, error) {
	o, err := readAnswer(doc)
	if err != nil {
		return nil, unreadable(op, err)
	}
	o.faults.proto = c.proto
	el := o.v03Element()
	if err := o.faults.err(); err != nil {
		return nil, unreadable(op, err)
	}
	if el == nil {
		return nil, nil
	}
	return []*a2a.StreamResponse{el}, nil
}
