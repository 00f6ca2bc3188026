package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// v03Codec is versions 0.2 and 0.3, which have two forms. JSON-RPC has that of the
// TypeScript types (the TS form), in which kind says what an object is. HTTP+JSON and
// gRPC have the JSON of the messages of package a2a.v1 (the proto form), in which the
// name of the member around it says so. The same functions read both, and accept either
// form in place of the other: except for data, no member of one form means something
// else in the other. What it cannot carry, in either form:
//
//   - of requests: the tenant, ifGenerationMatch, currentGeneration, and a page size of
//     0. A history length of 0 is the whole history here, so a client asks for all and
//     drops it.
//   - of parts: the filename of text and data. Their media type goes into
//     metadata.mimeType and stays there. Data that is no object becomes the member
//     value of one, with the mark data_part_compat in the metadata, and is unwrapped
//     again; nobody else uses the mark. A part without content becomes an empty text.
//   - of answers: that the message of a status, or a message that is the answer, has no
//     role. It gets the agent's.
//   - of tasks and events: the generation. An artifact event without artifact gets an
//     empty one.
//   - of webhooks: the tenant, and the task of one that comes with a message. A webhook
//     that is set or asked for without an id gets that of the task, since at first a
//     task had one webhook. Of several schemes the first counts.
//   - of streams: positions. In the TS form a finished Task is two events, the second
//     of them a final status.
//   - of cards: see CardV03.
//
// The TS form also loses the pages of lists of webhooks. The proto form loses the
// metadata of CancelTask, and the difference between no configuration and an empty one.
// In the proto form
//
//   - a configuration that does not say whether it blocks does not block, because
//     protocol buffers omit false;
//   - a webhook's id and its task's are one name, which is cut at the last
//     /pushNotificationConfigs/;
//   - fileWithBytes has one layer of base64, as the definition says and as the Go and
//     JavaScript implementations read it. The Python implementation writes two layers,
//     and reads one as if it were two: it cannot be served without breaking the others.
//     Its files are read: see undouble.
type v03Codec struct{ form oldForm }

func (c v03Codec) DecodeRequest(op Op, doc []byte) (any, error) {
	if op == GetExtendedAgentCard {
		return new(a2a.GetExtendedAgentCardRequest), nil
	}
	where := "params"
	if c.form == formProto {
		where = "request" // it has no params
	}
	return readRequest(c.form, doc, where, func(o *object) any { return o.v03Request(op) })
}

func (c v03Codec) AppendResult(dst []byte, op Op, _, result any) []byte {
	w := oldWriter{jsonWriter{dst}, c.form}
	switch r := result.(type) {
	case nil: // a delete
		if c.form == formProto {
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
		w.card(r)
	default:
		panic("dialect: AppendResult of " + op.String())
	}
	return w.b
}

func (w *oldWriter) webhooks(r *a2a.ListTaskPushNotificationConfigsResponse) {
	if w.form != formProto {
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
	if Get(op).Silent {
		return nil, nil
	}
	if op == GetExtendedAgentCard {
		card, err := ParseCard(doc)
		if err != nil {
			return nil, unreadable(op, err)
		}
		return card, nil
	}
	return readAnswer(c.form, op, listed(op, doc), func(o *object) any { return o.v03Result(op, req) })
}

// listed puts a bare list into the object that it belongs in.
func listed(op Op, doc []byte) []byte {
	if s := strings.TrimLeft(string(doc[:min(len(doc), 64)]), " \t\r\n"); s == "" || s[0] != '[' {
		return doc
	}
	switch op {
	case ListTasks:
		return wrap("tasks", doc)
	case ListTaskPushNotificationConfigs:
		return wrap("configs", doc)
	}
	return doc
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
		res.PageSize, res.TotalSize = o.number("pageSize"), o.number("totalSize")
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

// cutHistory keeps the last n messages. If n is 0, the server was not asked to do so.
func cutHistory(t *a2a.Task, n *int32) {
	if n != nil && *n >= 0 && int(*n) < len(t.History) {
		t.History = t.History[len(t.History)-int(*n):]
	}
	if len(t.History) == 0 {
		t.History = nil
	}
}

func (c v03Codec) DecodeEvent(op Op, _ any, doc []byte) ([]*a2a.StreamResponse, error) {
	return readAnswer(c.form, op, doc, func(o *object) []*a2a.StreamResponse {
		if el := o.v03Element(); el != nil {
			return []*a2a.StreamResponse{el}
		}
		return nil
	})
}
