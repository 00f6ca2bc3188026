package dialect

import "github.com/parley-a2a/parley/a2a"

func (o *object) v03Request(op Op) any {
	switch op {
	case SendMessage, SendStreamingMessage:
		return o.v03Send()
	case GetTask:
		return &a2a.GetTaskRequest{ID: o.v03ID("name"), HistoryLength: v03HistoryLength(o)}
	case ListTasks:
		return o.v03ListTasks()
	case CancelTask:
		return &a2a.CancelTaskRequest{ID: o.v03ID("name"), Metadata: o.json("metadata"), Legacy: &a2a.Legacy{Version: "0.3", CanceledToo: true}}
	case SubscribeToTask:
		return &a2a.SubscribeToTaskRequest{ID: o.v03ID("name"), Legacy: &a2a.Legacy{Version: "0.3", FinishedToo: true}}
	case CreateTaskPushNotificationConfig:
		w := o.v03Webhook()
		if w.ID == "" {
			w.ID = w.TaskID
		}
		w.Legacy = &a2a.Legacy{Version: "0.3"}
		return w
	case GetTaskPushNotificationConfig:
		task, id := o.v03WebhookKey() // before 0.2.5 there was no id
		return &a2a.GetTaskPushNotificationConfigRequest{TaskID: task, ID: id, Legacy: &a2a.Legacy{Version: "0.3"}}
	case ListTaskPushNotificationConfigs:
		return &a2a.ListTaskPushNotificationConfigsRequest{TaskID: o.v03ID("parent"), PageToken: o.text("pageToken"), PageSize: o.number("pageSize")}
	case DeleteTaskPushNotificationConfig:
		task, id := o.v03WebhookKey()
		if id == "" && task != "" {
			o.bad("pushNotificationConfigId", "is required: it says which one of the task's")
		}
		return &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: task, ID: id}
	}
	panic("dialect: DecodeRequest of " + op.String())
}

func (c v03Codec) field(op Op, name string) string {
	name = renamed(name, "configuration.taskPushNotificationConfig.", "configuration."+namesIn[c.form].webhook+".")
	if c.form == formProto {
		return name // the path has the ids, or a name of several
	}
	switch op {
	case CreateTaskPushNotificationConfig:
		return renamed(name, "taskId", "taskId", "", "pushNotificationConfig.")
	case GetTaskPushNotificationConfig, DeleteTaskPushNotificationConfig:
		return renamed(name, "taskId", "id", "id", "pushNotificationConfigId")
	}
	return renamed(name, "taskId", "id")
}

func (c v03Codec) AppendRequest(dst []byte, op Op, req any) []byte {
	if op == GetExtendedAgentCard && c.form != formProto {
		return dst // it has no params
	}
	w := oldWriter{jsonWriter{dst}, c.form}
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
		if c.form != formProto {
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
		if c.form != formProto {
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

func (o *object) v03Send() *a2a.SendMessageRequest {
	r := &a2a.SendMessageRequest{Metadata: o.json("metadata"), Legacy: &a2a.Legacy{Version: "0.3"}}
	if m := o.object("message", "request"); m != nil {
		r.Message = m.v03Message()
		if r.Message.MessageID == "" {
			r.Message.MessageID = o.text("messageId") // samples of 0.3 have it here
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
		// Protocol buffers omit false.
		ReturnImmediately: blocking == nil && o.faults.form == formProto || blocking != nil && !*blocking,
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

// v03HistoryLength reads how much history is wanted. 0 means all of it, since protocol
// buffers cannot tell it from a missing one. A negative length is refused with the rest
// of the request.
func v03HistoryLength(o *object) *int32 {
	if n := o.int32("historyLength"); n != nil && *n != 0 {
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

func (w *oldWriter) taskID(id string) {
	if w.form == formProto {
		w.text("name", taskName(id))
	} else {
		w.text("id", id)
	}
}

func (w *oldWriter) webhookKey(task, id string) {
	if w.form == formProto {
		w.text("name", webhookName(task, id))
		return
	}
	w.text("id", task)
	w.optText("pushNotificationConfigId", id)
}

func (w *oldWriter) createWebhook(c *a2a.TaskPushNotificationConfig) {
	if w.form != formProto {
		w.text("taskId", c.TaskID)
		w.webhook("pushNotificationConfig", c)
		return
	}
	w.text("parent", taskName(c.TaskID))
	w.text("configId", c.ID)
	w.key("config")
	w.taskWebhook(c)
}

// v03HistoryLength omits 0, which would mean the whole history. The reader of the answer
// then cuts the history to the length that was asked for.
func (w *oldWriter) v03HistoryLength(n *int32) {
	if n != nil && *n > 0 {
		w.int("historyLength", *n)
	}
}

func (w *oldWriter) send(r *a2a.SendMessageRequest) {
	if r.Message != nil {
		w.key("message")
		w.message(r.Message)
	}
	conf := r.Configuration
	if conf == nil && w.form == formProto {
		conf = new(a2a.SendMessageConfiguration) // servers take a missing one for one that does not block
	}
	if conf != nil {
		w.object("configuration")
		w.texts("acceptedOutputModes", conf.AcceptedOutputModes) // required before 0.2.6
		w.v03HistoryLength(conf.HistoryLength)
		w.bool("blocking", !conf.ReturnImmediately)
		if p := conf.TaskPushNotificationConfig; p != nil {
			w.webhook(namesIn[w.form].webhook, p)
		}
		w.close('}')
	}
	w.optRaw("metadata", r.Metadata)
}

func (w *oldWriter) listTasks(r *a2a.ListTasksRequest) {
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
