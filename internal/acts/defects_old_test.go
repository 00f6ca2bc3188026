package acts

import (
	"net/http"
	"strings"
)

// states alters the state of each status of an answer.
func states(f func(string) string) func(*reply) {
	return everywhere(func(o obj) {
		if s, ok := o["state"].(string); ok {
			o["state"] = f(s)
		}
	})
}

// finals alters the last event of a stream.
func finals(f func(result obj)) func(int, obj, obj) []obj {
	return func(_ int, env, p obj) []obj {
		if p["final"] == true {
			f(p)
		}
		return []obj{env}
	}
}

func newNames(s string) string {
	return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
}

// history asks for more of it than the caller wants.
func history(r *http.Request, b obj) {
	askedBy("tasks/get", func(p obj) {
		if p["historyLength"] != nil {
			p["historyLength"] = 100.0
		}
	})(r, b)
}

// defectsOld are what a server of 0.2, of 0.1 or of the draft of 1.1 does wrong.
var defectsOld = []defect{
	{version: "0.2", name: "0.2: the answer is wrapped as in 1.0", answer: to("message/send", func(r *reply) {
		if r.fault() == nil {
			r.body["result"] = obj{"task": r.result()}
		}
	}), find: "V02-001"},
	{version: "0.2", name: "0.2: another task is found", answer: to("tasks/get", func(r *reply) {
		if r.fault() == nil {
			r.result()["id"] = "another"
		}
	}), find: "V02-002"},
	{version: "0.2", name: "0.2: tasks that are not there are invalid params", answer: func(r *reply) { code(r, -32001, -32602) }, find: "V02-003"},
	{version: "0.2", name: "0.2: the history is whole", request: history, find: "V02-004"},
	{version: "0.2", name: "0.2: states of canceled tasks are those of 1.0", answer: to("tasks/cancel", states(newNames)), find: "V02-005"},
	{version: "0.2", name: "0.2: what cannot be canceled is not supported", answer: to("tasks/cancel", func(r *reply) { code(r, -32002, -32004) }), find: "V02-006"},
	{version: "0.2", name: "0.2: follow-ups get another context", answer: to("message/send", func(r *reply) {
		p, _ := r.asked["params"].(obj)
		if m, _ := p["message"].(obj); m != nil && m["taskId"] != nil && r.fault() == nil {
			r.result()["contextId"] = "another"
		}
	}), find: "V02-007"},
	{version: "0.2", name: "0.2: parts have the type of 0.1", answer: kinds("data", func(o obj) { o["type"] = "data"; delete(o, "kind") }), find: "V02-008"},
	{version: "0.2", name: "0.2: updates have no kind", event: func(_ int, env, p obj) []obj {
		if p["kind"] == "status-update" || p["kind"] == "artifact-update" {
			delete(p, "kind")
		}
		return []obj{env}
	}, find: "V02-009"},
	{version: "0.2", name: "0.2: the last event is not final", event: finals(func(p obj) { p["final"] = false }), find: "V02-010"},
	{version: "0.2", name: "0.2: a config is flat as in 1.0", answer: to("tasks/pushNotificationConfig/set", func(r *reply) {
		if c, ok := r.result()["pushNotificationConfig"].(obj); ok {
			c["taskId"] = r.result()["taskId"]
			r.body["result"] = c
		}
	}), find: "V02-011"},
	{version: "0.2", name: "0.2: unknown methods are invalid requests", answer: func(r *reply) { code(r, -32601, -32600) }, find: "V02-012"},
	{version: "0.2", name: "0.2: no JSON is an invalid request", answer: func(r *reply) { code(r, -32700, -32600) }, find: "V02-013"},
	{version: "0.2", name: "0.2: params without a message are an invalid request", answer: to("message/send", func(r *reply) { code(r, -32602, -32600) }), find: "V02-014"},

	{version: "0.1", name: "0.1: sessions are the server's", answer: to("tasks/send", func(r *reply) {
		if p, _ := r.asked["params"].(obj); p["sessionId"] != nil && r.fault() == nil {
			r.result()["sessionId"] = "another"
		}
	}), find: "V01-001"},
	{version: "0.1", name: "0.1: another task is found", answer: to("tasks/get", func(r *reply) {
		if r.fault() == nil {
			r.result()["id"] = "another"
		}
	}), find: "V01-002"},
	{version: "0.1", name: "0.1: tasks that are not there are invalid params", answer: func(r *reply) { code(r, -32001, -32602) }, find: "V01-003"},
	{version: "0.1", name: "0.1: the history is whole", request: history, find: "V01-004"},
	{version: "0.1", name: "0.1: states of canceled tasks are those of 1.0", answer: to("tasks/cancel", states(newNames)), find: "V01-005"},
	{version: "0.1", name: "0.1: what cannot be canceled is not supported", answer: to("tasks/cancel", func(r *reply) { code(r, -32002, -32004) }), find: "V01-006"},
	{version: "0.1", name: "0.1: parts have the kind of 0.2", answer: everywhere(func(o obj) {
		if o["type"] == "data" {
			o["kind"] = "data"
			delete(o, "type")
		}
	}), find: "V01-008"},
	{version: "0.1", name: "0.1: the last event is not final", event: finals(func(p obj) { p["final"] = false }), find: "V01-010"},
	{version: "0.1", name: "0.1: a config is flat as in 1.0", answer: to("tasks/pushNotification/set", func(r *reply) {
		if c, ok := r.result()["pushNotificationConfig"].(obj); ok {
			c["id"] = r.result()["id"]
			r.body["result"] = c
		}
	}), find: "V01-011"},
	{version: "0.1", name: "0.1: methods are those of 0.2 only", request: func(_ *http.Request, b obj) {
		if b["method"] == "tasks/pushNotification/get" {
			b["method"] = "noSuchMethod"
		}
	}, find: "V01-011"},
	{version: "0.1", name: "0.1: unknown methods are invalid requests", answer: func(r *reply) { code(r, -32601, -32600) }, find: "V01-012"},
	{version: "0.1", name: "0.1: no JSON is an invalid request", answer: func(r *reply) { code(r, -32700, -32600) }, find: "V01-013"},
	{version: "0.1", name: "0.1: params without a message are an invalid request", answer: to("tasks/send", func(r *reply) { code(r, -32602, -32600) }), find: "V01-014"},

	{version: "1.1", name: "1.1: events have no generation", event: func(_ int, env, p obj) []obj {
		walk(any(env), func(o obj) { delete(o, "generation") })
		return []obj{env}
	}, find: "V11-001"},
	{version: "1.1", name: "1.1: tasks that are read count differently", answer: to("GetTask", func(r *reply) {
		if r.fault() == nil {
			r.result()["generation"] = "77"
		}
	}), find: "V11-002 V11-006"},
	{version: "1.1", name: "1.1: another generation is taken", request: askedBy("SendMessage", func(p obj) {
		if c, ok := p["configuration"].(obj); ok {
			delete(c, "ifGenerationMatch")
		}
	}), find: "V11-003"},
	{version: "1.1", name: "1.1: another generation is invalid params", answer: func(r *reply) { code(r, -32010, -32602) }, find: "V11-003"},
	{version: "1.1", name: "1.1: the task's own generation is refused", request: askedBy("SendMessage", func(p obj) {
		if c, ok := p["configuration"].(obj); ok && p["message"].(obj)["taskId"] != nil {
			c["ifGenerationMatch"] = "999999"
		}
	}), find: "V11-004"},
	{version: "1.1", name: "1.1: new tasks have a generation to match", answer: to("SendMessage", func(r *reply) {
		p, _ := r.asked["params"].(obj)
		if m, _ := p["message"].(obj); p["configuration"] != nil && m["taskId"] == nil {
			delete(r.body, "result")
			r.body["error"] = obj{"code": -32010.0, "message": "mismatch"}
		}
	}), find: "V11-005"},
}
