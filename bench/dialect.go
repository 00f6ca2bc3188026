package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// dialect is a version of A2A over a binding with HTTP, as far as the scenarios
// need it.
type dialect struct {
	name    string
	version string // what A2A-Version says
	rpc     bool   // JSON-RPC; otherwise HTTP+JSON

	send, stream, get, subscribe, list string // methods, or paths

	params    func(b []byte, id string, m *message) []byte // of send and stream
	completed string                                       // how JSON says that a task is
}

// message is what is sent, and how.
type message struct {
	text      string
	file      string // base64; "" for none
	context   string // "" for a new one
	detached  bool   // do not wait for the end of the task
	noHistory bool   // leave the history out of the answer
	webhook   string // where updates are posted; "" for nowhere. In 1.0 only
}

var (
	rpc10 = &dialect{
		name: "1.0 JSON-RPC", version: "1.0", rpc: true, send: "SendMessage", stream: "SendStreamingMessage",
		get: "GetTask", subscribe: "SubscribeToTask", list: "ListTasks", params: params10, completed: `"state":"TASK_STATE_COMPLETED"`,
	}
	rest10 = &dialect{
		name: "1.0 HTTP+JSON", version: "1.0", send: "/message:send", stream: "/message:stream",
		params: params10, completed: `"state":"TASK_STATE_COMPLETED"`,
	}
	rpc03 = &dialect{
		name: "0.3 JSON-RPC", version: "0.3", rpc: true, send: "message/send", stream: "message/stream",
		get: "tasks/get", subscribe: "tasks/resubscribe", params: params03, completed: `"state":"completed"`,
	}
	rest03 = &dialect{
		name: "0.3 HTTP+JSON", version: "0.3", send: "/v1/message:send", stream: "/v1/message:stream",
		params: restParams03, completed: `"state":"TASK_STATE_COMPLETED"`,
	}
	rpc02 = &dialect{
		name: "0.2 JSON-RPC", version: "0.2", rpc: true, send: "message/send", stream: "message/stream",
		params: params03, completed: `"state":"completed"`,
	}
	rpc01 = &dialect{
		name: "0.1 JSON-RPC", version: "0.1", rpc: true, send: "tasks/send", stream: "tasks/sendSubscribe",
		params: params01, completed: `"state":"completed"`,
	}
)

// The texts that are sent have nothing to escape.
func params10(b []byte, id string, m *message) []byte {
	b = append(b, `{"message":{"messageId":"`...)
	b = append(b, id...)
	if m.context != "" {
		b = append(b, `","contextId":"`...)
		b = append(b, m.context...)
	}
	b = append(b, `","role":"ROLE_USER","parts":[{"text":"`...)
	b = append(b, m.text...)
	if m.file != "" {
		b = append(b, `"},{"raw":"`...)
		b = append(b, m.file...)
		b = append(b, `","mediaType":"application/octet-stream`...)
	}
	b = append(b, `"}]}`...)
	switch {
	case m.detached:
		b = append(b, `,"configuration":{"returnImmediately":true}`...)
	case m.webhook != "":
		b = append(b, `,"configuration":{"taskPushNotificationConfig":{"url":"`...)
		b = append(b, m.webhook...)
		b = append(b, `"}}`...)
	case m.noHistory:
		b = append(b, `,"configuration":{"historyLength":0}`...)
	}
	return append(b, '}')
}

func params03(b []byte, id string, m *message) []byte {
	b = append(b, `{"message":{"kind":"message","messageId":"`...)
	b = append(b, id...)
	if m.context != "" {
		b = append(b, `","contextId":"`...)
		b = append(b, m.context...)
	}
	b = append(b, `","role":"user","parts":[{"kind":"text","text":"`...)
	b = append(b, m.text...)
	if m.file != "" {
		b = append(b, `"},{"kind":"file","file":{"bytes":"`...)
		b = append(b, m.file...)
		b = append(b, `","name":"file","mimeType":"application/octet-stream"}}]}`...)
	} else {
		b = append(b, `"}]}`...)
	}
	switch {
	case m.detached:
		b = append(b, `,"configuration":{"blocking":false}`...)
	case m.noHistory:
		b = append(b, `,"configuration":{"blocking":true,"historyLength":0}`...)
	default:
		b = append(b, `,"configuration":{"blocking":true}`...)
	}
	return append(b, '}')
}

func restParams03(b []byte, id string, m *message) []byte {
	b = append(b, `{"message":{"messageId":"`...)
	b = append(b, id...)
	b = append(b, `","role":"ROLE_USER","content":[{"text":"`...)
	b = append(b, m.text...)
	return append(b, `"}]},"configuration":{"blocking":true}}`...)
}

func params01(b []byte, id string, m *message) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, id...)
	b = append(b, `","message":{"role":"user","parts":[{"type":"text","text":"`...)
	b = append(b, m.text...)
	return append(b, `"}]}}`...)
}

// request is a call of an operation with params, which over HTTP+JSON are the
// body.
func (d *dialect) request(q *call, op, id string, params func(b []byte) []byte) {
	q.version = d.version
	b := q.body[:0]
	if !d.rpc {
		q.path, q.body = op, params(b)
		return
	}
	q.path = "/"
	b = append(b, `{"jsonrpc":"2.0","id":"`...)
	b = append(b, id...)
	b = append(b, `","method":"`...)
	b = append(b, op...)
	b = append(b, `","params":`...)
	q.body = append(params(b), '}')
}

func (d *dialect) sending(q *call, id string, m *message) {
	q.stream = false
	d.request(q, d.send, id, func(b []byte) []byte { return d.params(b, id, m) })
}

func (d *dialect) streaming(q *call, id string, m *message) {
	q.stream = true
	d.request(q, d.stream, id, func(b []byte) []byte { return d.params(b, id, m) })
}

func (d *dialect) getting(q *call, id, task string) {
	q.stream = false
	d.request(q, d.get, id, named(task))
}

func (d *dialect) subscribing(q *call, id, task string) {
	q.stream = true
	d.request(q, d.subscribe, id, named(task))
}

// listing asks for a page; the params are a JSON object.
func (d *dialect) listing(q *call, id, params string) {
	q.stream = false
	d.request(q, d.list, id, func(b []byte) []byte { return append(b, params...) })
}

func named(task string) func(b []byte) []byte {
	return func(b []byte) []byte { return append(append(append(b, `{"id":"`...), task...), `"}`...) }
}

// completedWith checks the answer to id: a task that is completed, with an
// artifact of that one text. thorough decodes all of it; without it the bytes
// are looked at only, which costs the generator less.
func (d *dialect) completedWith(answer []byte, id, text string, thorough bool) error {
	if d.rpc && !has(answer, `"id":"`, id, `"`) || !has(answer, d.completed) || !has(answer, `"text":"`, text, `"`) {
		return fmt.Errorf("%s: the answer to %s is not a completed task with %.40q: %.600q", d.name, id, text, answer)
	}
	if !thorough {
		return nil
	}
	t, err := taskOf(answer)
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if len(t.Artifacts) != 1 || len(t.Artifacts[0].Parts) != 1 || t.Artifacts[0].Parts[0].Text != text || !strings.HasSuffix(strings.ToLower(t.Status.State), "completed") {
		return fmt.Errorf("%s: the answer to %s is not a completed task with an artifact %.40q: %.600q", d.name, id, text, answer)
	}
	return nil
}

// has says whether b has the pieces one right after the other. Only one of them
// may be long.
func has(b []byte, pieces ...string) bool {
	if len(pieces) == 1 {
		return bytes.Contains(b, []byte(pieces[0]))
	}
	var small [128]byte
	whole := small[:0]
	for _, p := range pieces {
		whole = append(whole, p...)
	}
	return bytes.Contains(b, whole)
}

// task is what is read of tasks, in any dialect.
type task struct {
	ID        string
	ContextID string
	Status    struct{ State, Timestamp string }
	Artifacts []struct{ Parts []struct{ Text string } }
}

// taskOf reads the task that an answer or an event has.
func taskOf(answer []byte) (*task, error) {
	var a struct {
		Result json.RawMessage
		Task   *task
		Error  json.RawMessage
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("%w: %.200q", err, answer)
	}
	if a.Task != nil {
		return a.Task, nil
	}
	var in struct {
		task
		Task *task
	}
	if a.Error != nil || a.Result == nil {
		return nil, fmt.Errorf("an answer without a task: %.400q", answer)
	}
	if err := json.Unmarshal(a.Result, &in); err != nil {
		return nil, fmt.Errorf("%w: %.200q", err, answer)
	}
	if in.Task != nil {
		return in.Task, nil
	}
	if in.task.ID == "" {
		return nil, fmt.Errorf("an answer without a task: %.400q", answer)
	}
	return &in.task, nil
}
