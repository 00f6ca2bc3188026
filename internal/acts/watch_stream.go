package acts

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

var terminal = map[string]bool{
	"TASK_STATE_COMPLETED": true, "TASK_STATE_FAILED": true, "TASK_STATE_CANCELED": true, "TASK_STATE_REJECTED": true,
}

// checkStream checks a stream after its end.
func (a *Answer) checkStream() {
	events := a.stream.seen()
	st := &streamWatch{Answer: a, artifacts: map[string]bool{}}
	for n, e := range events {
		st.event(n, e)
	}
	over := a.stream.end()
	if errors.Is(over, errCut) || len(events) == 0 {
		return
	}
	a.want("stream-end", errors.Is(over, io.EOF), "", "a stream that ends by itself", errWord(over))
	if a.on.version == "0.3" && a.on.binding == JSONRPC {
		for n, e := range events {
			if name, p := e.payload(); name == "statusUpdate" {
				last := n == len(events)-1
				a.want("stream-final", (p["final"] == true) == last, fmt.Sprintf("events[%d].final", n), "true in the last event, and in no other", p["final"])
			}
		}
	}
}

// streamWatch is the state of a stream so far.
type streamWatch struct {
	*Answer
	state     string
	task      string // id
	context   string
	kind      string // of the first event
	artifacts map[string]bool
}

func (s *streamWatch) event(n int, e *StreamEvent) {
	at := fmt.Sprintf("events[%d]", n)
	if s.on.binding != GRPC {
		s.want("sse-data", e.bad == "", at, "a JSON object", e.bad)
	}
	if e.bad != "" || e.err != nil {
		return
	}
	raw := e.raw
	switch s.on.binding {
	case JSONRPC:
		o, _ := e.raw.(obj)
		s.checkEnvelope(o, "jsonrpc-sse")
		raw = o["result"]
	case GRPC:
		s.checkFields(e.unknown)
	}
	s.checkObject("StreamResponse", raw)
	name, p := e.payload()
	if name == "" {
		return
	}
	if n == 0 {
		s.kind = name
		if s.on.version == "1.0" {
			s.want("stream-first", name == "task" || name == "message" && s.op != "subscribe_to_task", at, "the task first, or the only message", name)
		}
	} else if s.on.version == "1.0" {
		ok := name == "statusUpdate" || name == "artifactUpdate" || name == "task" && terminal[e.state()]
		s.want("stream-later", ok && s.kind != "message", at, "updates of status and artifacts behind the task, and nothing behind a message", name)
	}
	s.ids(at, name, p)
	s.artifact(at, name, p)
	state := e.state()
	if state == "" && name != "artifactUpdate" {
		return
	}
	if terminal[s.state] {
		s.want("stream-after-end", name == "task" && state == s.state, at, "no event after "+s.state, name)
	} else {
		s.note("stream-after-end", nil)
	}
	if state != "" {
		wrong := s.state != "" && state == "TASK_STATE_SUBMITTED" && s.state != state
		s.want("stream-transitions", !wrong, at, "no way back from "+s.state, state)
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
	s.want("stream-ids", task == s.task && context == s.context, at, "the ids of the same task and context: "+s.task+", "+s.context, task+", "+context)
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
			s.want("stream-append", s.artifacts[id], at+".append", "true only for an artifact that came before", id)
		}
		s.artifacts[id] = true
	}
}

// checkDelivery checks a delivery to the webhook.
func (a *Answer) checkDelivery(d *delivery, tasks map[string]bool) {
	kind, _, _ := strings.Cut(d.header.Get("Content-Type"), ";")
	if a.on.version == "0.3" {
		a.want("webhook-type", kind == "application/json", "Content-Type", "application/json", kind)
		a.want("webhook-body", d.body != nil, "", "JSON", nil)
		return
	}
	a.want("webhook-type", kind == "application/a2a+json" || kind == "application/json", "Content-Type", "application/a2a+json", kind)
	x := newInspector(false)
	x.inspect("StreamResponse", d.body)
	var first *Mismatch
	for _, f := range x.found {
		if f.check == "stream-event" && first == nil {
			first = f.miss
		}
	}
	a.note("webhook-body", first)
	e := &StreamEvent{value: d.body}
	name, p := e.payload()
	if name == "" {
		return
	}
	id, _ := p["taskId"].(string)
	if name == "task" {
		id, _ = p["id"].(string)
	}
	a.want("webhook-task", tasks[id] || name == "message" && id == "", "taskId", "the id of the task that the webhook is for", id)
}
