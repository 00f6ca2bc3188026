package acts

import (
	"net/http"
	"strings"
)

// kinds alters each object of an answer that has a kind.
func kinds(kind string, f func(obj)) func(*reply) {
	return everywhere(func(o obj) {
		if o["kind"] == kind {
			f(o)
		}
	})
}

// updates alters each update of a stream, of a kind.
func updates(kind string, f func(o obj)) func(int, obj, obj) []obj {
	return func(_ int, env, p obj) []obj {
		if p["kind"] == kind {
			f(p)
		}
		return []obj{env}
	}
}

// defects03 are what a server does wrong in version 0.3 and not in 1.0: in its names, in
// what only it has, and in what it answers differently.
var defects03 = []defect{
	{version: "0.3", name: "tasks have no kind", answer: kinds("task", func(o obj) { delete(o, "kind") }), find: "SEND-001"},
	{version: "0.3", name: "messages have no kind", answer: kinds("message", func(o obj) { delete(o, "kind") }), find: "DATA-003 RPC-031 SEND-001"},
	{version: "0.3", name: "parts have no kind", answer: kinds("text", func(o obj) { delete(o, "kind") }), find: "DATA-004 RPC-031"},
	{version: "0.3", name: "parts have the type of 0.1", answer: kinds("text", func(o obj) { o["type"] = "text"; delete(o, "kind") }), find: "DATA-004 RPC-031"},
	{version: "0.3", name: "states are those of 1.0", answer: everywhere(func(o obj) {
		if s, ok := o["state"].(string); ok {
			o["state"] = "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
		}
	}), find: "DATA-008 RPC-032"},
	{version: "0.3", name: "roles are those of 1.0", answer: everywhere(func(o obj) {
		if o["role"] == "agent" {
			o["role"] = "ROLE_AGENT"
		}
	}), find: "DATA-009 RPC-031"},
	{version: "0.3", name: "the answer is wrapped as in 1.0", answer: to("message/send", func(r *reply) {
		if r.fault() == nil && r.result()["kind"] == "message" {
			r.body["result"] = obj{"message": r.result()}
		}
	}), find: "RPC-031 SEND-001"},
	{version: "0.3", name: "files are those of 1.0", answer: kinds("file", func(o obj) {
		f, _ := o["file"].(obj)
		o["raw"], o["filename"] = f["bytes"], f["name"]
		delete(o, "file")
	}), find: "DATA-004 RPC-032"},
	{version: "0.3", name: "the last event is not final", event: updates("status-update", func(o obj) { o["final"] = false }), find: "STREAM-009"},
	{version: "0.3", name: "every event is final", event: updates("status-update", func(o obj) { o["final"] = true }), find: "STREAM-009"},
	{version: "0.3", name: "status events name no task", event: updates("status-update", func(o obj) { delete(o, "taskId") }), find: "DATA-006"},
	{version: "0.3", name: "artifact events are wrapped as in 1.0", event: func(_ int, env, p obj) []obj {
		if p["kind"] == "artifact-update" {
			delete(p, "kind")
			env["result"] = obj{"artifactUpdate": p}
		}
		return []obj{env}
	}, find: "STREAM-003"},
	{version: "0.3", name: "a config is flat as in 1.0", answer: to("tasks/pushNotificationConfig/set", func(r *reply) {
		if c, ok := r.result()["pushNotificationConfig"].(obj); ok {
			c["taskId"] = r.result()["taskId"]
			r.body["result"] = c
		}
	}), find: "PUSH-001 PUSH-010"},
	{version: "0.3", name: "configs are listed as in 1.0", answer: to("tasks/pushNotificationConfig/list", func(r *reply) {
		if list, ok := r.body["result"].([]any); ok {
			r.body["result"] = obj{"configs": list}
		}
	}), find: "PUSH-002"},
	{version: "0.3", name: "methods are those of 1.0 only", request: func(_ *http.Request, b obj) {
		if b["method"] == "tasks/resubscribe" || b["method"] == "agent/getAuthenticatedExtendedCard" {
			b["method"] = "noSuchMethod"
		}
	}, find: "SUB-004"},
	{version: "0.3", name: "what cannot be canceled is not supported", answer: to("tasks/cancel", func(r *reply) { code(r, -32002, -32004) }), find: "CANCEL-003 CANCEL-004"},
	{version: "0.3", name: "a missing task is an invalid parameter", answer: func(r *reply) { code(r, -32001, -32602) }, find: "CANCEL-005 GET-002 PUSH-016 SEND-008 SEND-009"},
	{version: "0.3", name: "the card does not say its version", answer: to(card, func(r *reply) { delete(r.body, "protocolVersion") }), find: "CARD-024"},
}
