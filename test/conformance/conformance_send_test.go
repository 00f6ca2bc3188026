package conformance

import (
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

func TestConformanceSend(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-003 R-219 the answer is a task or a message", func(t *testing.T) {
			t.Parallel()
			got := w.ok(t, "SendMessage", obj{"message": say("echo x")})
			if o, _ := got.(obj); len(o) != 1 || !has(got, "task") {
				t.Errorf("%s, want one member task", compact(got))
			}
			w.direct(t, say("message x"), nil) // checks the same
		})
		t.Run("R-004 R-015 a terminal task takes no message", func(t *testing.T) {
			t.Parallel()
			canceled := text(w.begin(t, say("sleep 600")), "id")
			w.ok(t, "CancelTask", obj{"id": canceled})
			for state, id := range map[string]string{
				"TASK_STATE_COMPLETED": text(w.send(t, say("echo x")), "id"),
				"TASK_STATE_FAILED":    text(w.send(t, say("fail")), "id"),
				"TASK_STATE_REJECTED":  text(w.send(t, say("reject")), "id"),
				"TASK_STATE_CANCELED":  canceled,
			} {
				before := w.get(t, id)
				equal(t, "state", in(before, "status.state"), state)
				w.refused(t, "UNSUPPORTED_OPERATION", "SendMessage", obj{"message": say("more", "taskId", id)})
				w.refused(t, "UNSUPPORTED_OPERATION", "SendStreamingMessage", obj{"message": say("more", "taskId", id)})
				equal(t, "the task after the refusal", w.get(t, id), before)
			}
		})
		t.Run("R-005 R-016 R-101 an unknown task takes no message and does not come into being", func(t *testing.T) {
			t.Parallel()
			for _, op := range []string{"SendMessage", "SendStreamingMessage"} {
				w.refused(t, "TASK_NOT_FOUND", op, obj{"message": say("echo x", "taskId", "made-up-by-the-client")})
			}
			w.refused(t, "TASK_NOT_FOUND", "GetTask", obj{"id": "made-up-by-the-client"})
		})
		t.Run("R-006 R-017 a media type that is not accepted", func(t *testing.T) {
			t.Parallel()
			context := "context-of-R-006"
			message := say("", "contextId", context, "parts", []any{obj{"text": "echo x"}, obj{"raw": "AAAA", "mediaType": "video/mp4"}})
			w.refused(t, "CONTENT_TYPE_NOT_SUPPORTED", "SendMessage", obj{"message": message})
			w.refused(t, "CONTENT_TYPE_NOT_SUPPORTED", "SendStreamingMessage", obj{"message": message})
			equal(t, "number of tasks", in(w.ok(t, "ListTasks", obj{"contextId": context}), "totalSize"), 0)
		})
		t.Run("R-057 waiting is the default and ends at terminal and interrupted states", func(t *testing.T) {
			t.Parallel()
			for sent, state := range map[string]string{
				"sleep 0.2": "TASK_STATE_COMPLETED",
				"ask":       "TASK_STATE_INPUT_REQUIRED",
				"auth":      "TASK_STATE_AUTH_REQUIRED",
				"reject":    "TASK_STATE_REJECTED",
				"fail":      "TASK_STATE_FAILED",
			} {
				equal(t, "state after "+sent, in(w.send(t, say(sent)), "status.state"), state)
				explicit := w.ok(t, "SendMessage", obj{"message": say(sent), "configuration": obj{"returnImmediately": false}})
				equal(t, "state after an explicit wait", in(explicit, "task.status.state"), state)
			}
		})
		t.Run("R-058 the answer is the whole task", func(t *testing.T) {
			t.Parallel()
			for _, sent := range []string{"echo x", "stream 5 1", "data", "file", "ask", "fail"} {
				task := w.send(t, say(sent))
				equal(t, "task", task, w.get(t, text(task, "id")))
			}
		})
		t.Run("R-065 metadata is kept as it is", func(t *testing.T) {
			t.Parallel()
			metadata := `{"https://example.com/ext/v1":{"deep":[1,null,{"x":12345678901234567890,"y":1e-7}]},"n":null,"s":"é\u0000"}`
			if w.binding == grpcBinding { // where numbers are float64
				metadata = strings.Replace(metadata, "12345678901234567890", "9007199254740991", 1)
			}
			message := say("echo x", "metadata", decode(t, []byte(metadata)))
			task := w.send(t, message)
			equal(t, "metadata", in(task, "history.0.metadata"), decode(t, []byte(metadata)))
		})
		t.Run("R-071 a repeated messageId", func(t *testing.T) {
			t.Parallel()
			message := say("echo twice")
			for range 2 {
				equal(t, "artifact", in(w.send(t, message), "artifacts.0.parts.0.text"), "twice")
			}
		})
		t.Run("R-092 R-129 a context id is made and returned", func(t *testing.T) {
			t.Parallel()
			for _, got := range []any{w.send(t, say("echo x")), w.direct(t, say("message x"), nil)} {
				if text(got, "contextId") == "" || has(got, "taskId") {
					t.Errorf("no contextId, or a taskId, in %s", compact(got))
				}
			}
		})
		t.Run("R-093 R-095 the client's context id is adopted, not substituted", func(t *testing.T) {
			t.Parallel()
			const own = "client/chosen: contéxt"
			equal(t, "contextId of the task", in(w.send(t, say("echo x", "contextId", own)), "contextId"), own)
			equal(t, "contextId of the message", in(w.direct(t, say("message x", "contextId", own), nil), "contextId"), own)
		})
		t.Run("R-094 a context id that cannot be taken is refused", func(t *testing.T) {
			t.Parallel()
			for _, id := range []string{strings.Repeat("x", 10_000), "line\nbreak"} {
				w.refused(t, invalid, "SendMessage", obj{"message": say("echo x", "contextId", id)})
			}
		})
		t.Run("R-098 tasks of one context are one session", func(t *testing.T) {
			t.Parallel()
			first := w.send(t, say("echo one"))
			second := w.send(t, say("echo two", "contextId", in(first, "contextId")))
			if text(first, "id") == text(second, "id") {
				t.Error("one task for two messages")
			}
			page := w.ok(t, "ListTasks", obj{"contextId": in(first, "contextId")})
			equal(t, "number of tasks of the context", in(page, "totalSize"), 2)
		})
		t.Run("R-099 every task has an id of its own", func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			seen := map[string]bool{}
			var workers sync.WaitGroup
			for range 8 {
				workers.Go(func() {
					for range 125 {
						id := text(w.ok(t, "SendMessage", obj{"message": say("echo x")}), "task.id")
						mu.Lock()
						seen[id] = true
						mu.Unlock()
					}
				})
			}
			workers.Wait()
			if len(seen) != 1000 || seen[""] {
				t.Errorf("%d ids for 1000 tasks", len(seen))
			}
		})
		t.Run("R-121 R-122 results are artifacts", func(t *testing.T) {
			t.Parallel()
			task := w.send(t, say("echo the result"))
			equal(t, "artifact", in(task, "artifacts.0.parts.0.text"), "the result")
			if strings.Contains(compact(in(task, "status")), "the result") {
				t.Errorf("the result is in the status: %s", compact(in(task, "status")))
			}
		})
	})
}

// TestConformanceReturnImmediately is about answers before the work is done.
func TestConformanceReturnImmediately(t *testing.T) {
	h := map[string]*held{jsonrpc: newHeld(), rest: newHeld(), grpcBinding: newHeld()}
	t.Parallel()
	for binding, h := range h {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			w := dial(t, binding, start(t, agent.DemoCard(), h, nil))
			t.Run("R-007 R-059 the answer comes while the agent works", func(t *testing.T) {
				task := w.begin(t, say("work")) // comes back although nothing was released
				if s := text(task, "status.state"); s != "TASK_STATE_SUBMITTED" && s != "TASK_STATE_WORKING" {
					t.Errorf("state %s", s)
				}
				id := receive(t, h.started, "the start of the agent")
				equal(t, "task", in(task, "id"), id)
				h.release <- struct{}{}
				done := w.until(t, id, "TASK_STATE_COMPLETED")
				equal(t, "parts", len(list(done, "artifacts.0.parts")), 3)
			})
			t.Run("R-060 a stream runs to its end all the same", func(t *testing.T) {
				h.release <- struct{}{}
				s := w.open(t, "SendStreamingMessage", obj{"message": say("work"), "configuration": obj{"returnImmediately": true}})
				events := s.all()
				receive(t, h.started, "the start of the agent")
				equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
			})
			t.Run("R-091 a message to a working task is taken or clearly refused", func(t *testing.T) {
				id := text(w.begin(t, say("work")), "id")
				receive(t, h.started, "the start of the agent")
				a := w.call(t, "SendMessage", obj{"message": say("more", "taskId", id), "configuration": obj{"returnImmediately": true}})
				if a.fault != nil {
					w.wantFault(t, a, "UNSUPPORTED_OPERATION", "a second message")
				} else {
					equal(t, "task", in(a.result, "task.id"), id)
				}
				h.release <- struct{}{}
				h.release <- struct{}{} // the second message may get a turn
				w.until(t, id, "TASK_STATE_COMPLETED")
			})
		})
	}
	t.Run("R-060 a direct message stays one", func(t *testing.T) {
		eachDemo(t, func(t *testing.T, w *wire) {
			for _, value := range []bool{true, false} {
				got := w.direct(t, say("message x"), obj{"returnImmediately": value})
				equal(t, "text", in(got, "parts.0.text"), "x")
			}
		})
	})
}
