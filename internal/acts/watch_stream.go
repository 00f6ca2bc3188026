package acts

import (
	"fmt"
	"strings"
)

var terminal = map[string]bool{
	"TASK_STATE_COMPLETED": true, "TASK_STATE_FAILED": true, "TASK_STATE_CANCELED": true, "TASK_STATE_REJECTED": true,
}

// streamed checks a stream after its end.
func (w *watcher) streamed(i *iface, a *Answer, id any) {
	events := a.stream.seen()
	_, broken := a.stream.over()
	st := &streamWatch{w: w, i: i, a: a, artifacts: map[string]bool{}}
	for n, e := range events {
		st.event(n, e, id)
	}
	if a.stream.wasCut() || len(events) == 0 {
		return
	}
	w.want(i, "stream-end", a, broken == nil, "", "a stream that ends by itself", errWord(broken))
	if i.version == "0.3" {
		for n, e := range events {
			if name, p := e.payload(); name == "statusUpdate" && i.binding == JSONRPC {
				last := n == len(events)-1
				w.want(i, "stream-final", a, (p["final"] == true) == last, fmt.Sprintf("events[%d].final", n), "true in the last event, and in no other", p["final"])
			}
		}
	}
}

// streamWatch is the state of a stream so far.
type streamWatch struct {
	w         *watcher
	i         *iface
	a         *Answer
	state     string
	task      string // id
	context   string
	kind      string // of the first event
	artifacts map[string]bool
}

func (s *streamWatch) event(n int, e *StreamEvent, id any) {
	at := fmt.Sprintf("events[%d]", n)
	w, i, a := s.w, s.i, s.a
	if i.binding != GRPC {
		w.want(i, "sse-data", a, e.bad == "", at, "a JSON object", e.bad)
	}
	if e.bad != "" || e.err != nil {
		return
	}
	raw := e.raw
	if i.binding == JSONRPC {
		o, _ := e.raw.(obj)
		w.envelope(i, a, o, id, "jsonrpc-sse")
		raw = o["result"]
	}
	w.object(i, a, "StreamResponse", raw)
	name, p := e.payload()
	if name == "" {
		return
	}
	if n == 0 {
		s.kind = name
		if i.version == "1.0" {
			w.want(i, "stream-first", a, name == "task" || name == "message" && a.op != "subscribe_to_task", at, "the task first, or the only message", name)
		}
	} else if i.version == "1.0" {
		ok := name == "statusUpdate" || name == "artifactUpdate" || name == "task" && terminal[e.state()]
		w.want(i, "stream-later", a, ok && s.kind != "message", at, "updates of status and artifacts behind the task, and nothing behind a message", name)
	}
	s.ids(at, name, p)
	s.artifact(at, name, p)
	state := e.state()
	if state == "" && name != "artifactUpdate" {
		return
	}
	if terminal[s.state] {
		w.want(i, "stream-after-end", a, name == "task" && state == s.state, at, "no event after "+s.state, name)
	} else {
		w.note(i, "stream-after-end", a, nil)
	}
	if state != "" {
		wrong := s.state != "" && state == "TASK_STATE_SUBMITTED" && s.state != state
		w.want(i, "stream-transitions", a, !wrong, at, "no way back from "+s.state, state)
		s.state = state
	}
}

func (s *streamWatch) ids(at, name string, p obj) {
	member := "taskId"
	if name == "task" {
		member = "id"
	}
	task, _ := p[member].(string)
	context, _ := p["contextId"].(string)
	if name == "message" || task == "" || context == "" {
		return
	}
	if s.task == "" {
		s.task, s.context = task, context
	}
	s.w.want(s.i, "stream-ids", s.a, task == s.task && context == s.context, at, "the ids of the same task and context: "+s.task+", "+s.context, task+", "+context)
}

// artifact checks that append refers to an existing artifact (§4.2.2).
func (s *streamWatch) artifact(at, name string, p obj) {
	list := asElements(p["artifacts"]) // of a task
	if name == "artifactUpdate" {
		list = []any{p["artifact"]}
	}
	for _, v := range list {
		a, _ := v.(obj)
		id, _ := a["artifactId"].(string)
		if name == "artifactUpdate" && p["append"] == true {
			s.w.want(s.i, "stream-append", s.a, s.artifacts[id], at+".append", "true only for an artifact that came before", id)
		}
		s.artifacts[id] = true
	}
}

// delivered checks a delivery to the webhook.
func (w *watcher) delivered(i *iface, a *Answer, d *delivery, tasks map[string]bool) {
	kind, _, _ := strings.Cut(d.header.Get("Content-Type"), ";")
	if i.version == "0.3" {
		w.want(i, "webhook-type", a, kind == "application/json", "Content-Type", "application/json", kind)
		w.want(i, "webhook-body", a, d.body != nil, "", "JSON", nil)
		return
	}
	w.want(i, "webhook-type", a, kind == "application/a2a+json" || kind == "application/json", "Content-Type", "application/a2a+json", kind)
	x := &inspector{shapes: shapes10, seen: map[string]bool{}}
	x.inspect("StreamResponse", d.body)
	var first *Mismatch
	for _, f := range x.found {
		if f.check == "stream-event" && first == nil {
			first = f.miss
		}
	}
	w.note(i, "webhook-body", a, first)
	e := &StreamEvent{value: d.body}
	name, p := e.payload()
	if name == "" {
		return
	}
	id, _ := p["taskId"].(string)
	if name == "task" {
		id, _ = p["id"].(string)
	}
	w.want(i, "webhook-task", a, tasks[id] || name == "message" && id == "", "taskId", "the id of the task that the webhook is for", id)
}
