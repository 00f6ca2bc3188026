package conformance

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// stamp is RFC 3339 in UTC with milliseconds.
var stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func TestConformanceJSON(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		if w.binding == grpcBinding {
			return
		}
		var tasks []any
		for _, sent := range []string{"echo x", "file", "data", "ask", "auth", "fail", "reject", "stream 3 1"} {
			tasks = append(tasks, w.send(t, say(sent)))
		}
		t.Run("R-125 R-126 R-127 R-132 R-168 R-173 required members of tasks", func(t *testing.T) {
			for _, task := range tasks {
				if text(task, "id") == "" || !regexp.MustCompile(`^TASK_STATE_[A-Z_]+$`).MatchString(text(task, "status.state")) ||
					text(task, "status.state") == "TASK_STATE_UNSPECIFIED" {
					t.Errorf("%s", compact(task))
				}
				seen := map[string]bool{}
				for _, a := range list(task, "artifacts") {
					id := text(a, "artifactId")
					if id == "" || seen[id] || len(list(a, "parts")) == 0 {
						t.Errorf("artifact %s", compact(a))
					}
					seen[id] = true
				}
			}
		})
		t.Run("R-128 R-129 R-130 required members of messages", func(t *testing.T) {
			messages := []any{w.direct(t, say("message x"), nil)}
			for _, task := range tasks {
				if m := in(task, "status.message"); m != nil {
					messages = append(messages, m)
				}
			}
			for _, m := range messages {
				equal(t, "role", in(m, "role"), "ROLE_AGENT")
				if text(m, "messageId") == "" || text(m, "contextId") == "" || len(list(m, "parts")) == 0 {
					t.Errorf("message %s", compact(m))
				}
			}
			if has(messages[0], "taskId") {
				t.Errorf("a direct message names a task: %s", compact(messages[0]))
			}
			if len(messages) < 5 {
				t.Errorf("only %d messages", len(messages))
			}
		})
		t.Run("R-167 R-285 names are camelCase, kind is gone", func(t *testing.T) {
			for _, task := range tasks {
				camel(t, task, "task")
			}
			for _, e := range w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}).all() {
				camel(t, e.body, e.kind)
			}
			camel(t, w.ok(t, "ListTasks", obj{"includeArtifacts": true}), "page")
		})
		t.Run("R-169 R-170 R-171 timestamps are UTC with milliseconds", func(t *testing.T) {
			for _, task := range tasks {
				at := text(task, "status.timestamp")
				if !stamp.MatchString(at) {
					t.Errorf("timestamp %q", at)
				}
				if moment, err := time.Parse(time.RFC3339, at); err != nil || time.Since(moment).Abs() > 10*time.Minute {
					t.Errorf("timestamp %q, but now it is %v", at, time.Now().UTC())
				}
			}
			for _, e := range w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}).all() {
				if at := text(e.body, "status.timestamp"); has(e.body, "status") && !stamp.MatchString(at) {
					t.Errorf("timestamp %q in a stream", at)
				}
			}
		})
		t.Run("R-131 parts as ProtoJSON has them", func(t *testing.T) {
			equal(t, "file parts", in(tasks[1], "artifacts.0.parts"), []any{
				obj{"raw": pixel, "mediaType": "image/png", "filename": "pixel.png"},
				obj{"url": "https://example.com/report.pdf", "mediaType": "application/pdf", "filename": "report.pdf"},
			})
			equal(t, "data part", in(tasks[2], "artifacts.0.parts.0.data"),
				decode(t, []byte(`{"answer":42,"ok":true,"list":[1,"two",null],"nested":{"pi":3.5,"text":"héllo"}}`)))
		})
		t.Run("R-175 unknown members are ignored, R-167 snake_case is read, null is absent", func(t *testing.T) {
			const body = `{"message":{"message_id":"m1","role":"ROLE_USER","parts":[{"text":"echo x","media_type":"text/plain","new":{"deep":[1]}}],
				"context_id":null,"taskId":null,"metadata":null,"invented":true},"configuration":{"return_immediately":false,"historyLength":"1"},"extra":[{}]}`
			task := in(w.ok(t, "SendMessage", decode(t, []byte(body))), "task")
			equal(t, "messageId", in(task, "history.0.messageId"), "m1")
			equal(t, "part", in(task, "history.0.parts.0"), obj{"text": "echo x", "mediaType": "text/plain"})
			equal(t, "artifact", in(task, "artifacts.0.parts.0.text"), "x")
		})
		t.Run("R-078 R-079 R-128 R-131 R-174 wrong input is named and starts nothing", func(t *testing.T) {
			const context = "context-of-R-078"
			before := in(w.ok(t, "ListTasks", obj{}), "totalSize")
			parts := func(p ...any) obj { return say("", "contextId", context, "parts", p) }
			without := func(member string) obj {
				m := say("echo x", "contextId", context)
				delete(m, member)
				return m
			}
			for _, wrong := range []struct {
				field   string
				message any
			}{
				{"message", nil},
				{"message.messageId", without("messageId")},
				{"message.role", without("role")},
				{"message.parts", without("parts")},
				{"message.parts", parts()},
				{"message.role", say("x", "role", "ROLE_UNSPECIFIED")},
				{"message.role", say("x", "role", "nobody")},
				{"message.role", say("x", "role", "ROLE_AGENT")},
				{"message.parts[0]", parts(obj{})},
				{"message.parts[0]", parts(obj{"mediaType": "text/plain"})},
				{"message.parts[1]", parts(obj{"text": "x"}, obj{"text": "x", "url": "https://example.com"})},
				{"message.parts[0]", parts(obj{"text": "x", "data": nil, "raw": ""})},
				{"message.parts[0].text", parts(obj{"text": 7})},
				{"message.parts[0].raw", parts(obj{"raw": "not base64!"})},
				{"message.parts[0].metadata", parts(obj{"text": "x", "metadata": []any{}})},
				{"message.parts", say("x", "parts", "x")},
				{"message.metadata", say("x", "metadata", "x")},
				{"message.messageId", say("x", "messageId", 7)},
				{"message.referenceTaskIds[0]", say("x", "referenceTaskIds", []any{7})},
				{"message.extensions", say("x", "extensions", obj{})},
				{"message", "x"},
				{"message", []any{}},
				{"message.parts[0].text", parts(obj{"text": []any{}})},
				{"message.parts[0].mediaType", parts(obj{"text": "x", "mediaType": 1})},
				{"message.contextId", say("x", "contextId", obj{})},
				{"message.taskId", say("x", "taskId", 1.5)},
				{"message.parts[0].metadata", parts(obj{"text": "x", "metadata": "x"})},
			} {
				p := obj{}
				if wrong.message != nil {
					p["message"] = wrong.message
				}
				f := w.refused(t, invalid, "SendMessage", p)
				if !named(f, wrong.field) {
					t.Errorf("%s: the fields named are %v, not %s: %s", compact(p), f.fields(), wrong.field, f.message)
				}
			}
			equal(t, "tasks", in(w.ok(t, "ListTasks", obj{}), "totalSize"), before)
		})
		t.Run("R-078 R-174 wrong types in configuration and other requests", func(t *testing.T) {
			for field, conf := range map[string]any{
				"configuration.returnImmediately":   obj{"returnImmediately": "yes"},
				"configuration.historyLength":       obj{"historyLength": 1.5},
				"configuration.acceptedOutputModes": obj{"acceptedOutputModes": "text/plain"},
				"configuration":                     "x",
			} {
				f := w.refused(t, invalid, "SendMessage", obj{"message": say("x"), "configuration": conf})
				if !named(f, field) {
					t.Errorf("%s: the fields named are %v, not %s", compact(conf), f.fields(), field)
				}
			}
			w.refused(t, invalid, "SendMessage", obj{"message": say("x"), "metadata": []any{}})
		})
	})
}

// named tells whether an error is about a field or something in it.
func named(f *fault, field string) bool {
	for _, name := range f.fields() {
		if name == field || strings.HasPrefix(name, field+".") || strings.HasPrefix(name, field+"[") {
			return true
		}
	}
	return false
}
