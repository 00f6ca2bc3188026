package parley_test

import (
	"context"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

func TestConformanceGet(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-018 R-070 status and artifacts, the same each time", func(t *testing.T) {
			t.Parallel()
			task := w.send(t, say("echo x"))
			for range 3 {
				got := w.get(t, text(task, "id"))
				equal(t, "state", in(got, "status.state"), "TASK_STATE_COMPLETED")
				equal(t, "artifact", in(got, "artifacts.0.parts.0.text"), "x")
				equal(t, "task", got, task)
			}
		})
		t.Run("R-019 R-080 an unknown task", func(t *testing.T) {
			t.Parallel()
			for _, id := range []string{"nobody-knows", "0", "a b", "with/slash", "ü"} {
				w.refused(t, "TASK_NOT_FOUND", "GetTask", obj{"id": id})
			}
		})
		t.Run("R-184 R-185 auth-required is a task that says what is needed", func(t *testing.T) {
			t.Parallel()
			task := w.send(t, say("auth"))
			equal(t, "state", in(task, "status.state"), "TASK_STATE_AUTH_REQUIRED")
			if text(task, "status.message.parts.0.text") == "" {
				t.Errorf("no status message in %s", compact(task))
			}
		})
	})
}

// interview asks twice; its task has five messages in the end.
func interview() agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		for _, question := range []string{"first?", "second?"} {
			if _, err := t.Ask(ctx, question); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestConformanceHistory(t *testing.T) {
	each(t, agent.DemoCard(), interview, func(t *testing.T, w *wire) {
		task := w.send(t, say("hello"))
		id, context := text(task, "id"), text(task, "contextId")
		w.send(t, say("one", "taskId", id))
		w.send(t, say("two", "taskId", id))
		words := func(task any) []string {
			var all []string
			for _, m := range list(task, "history") {
				all = append(all, text(m, "parts.0.text"))
			}
			return all
		}
		full := []string{"hello", "first?", "one", "second?", "two"}

		t.Run("R-064 without historyLength", func(t *testing.T) {
			equal(t, "history", words(w.get(t, id)), full)
		})
		t.Run("R-061 R-063 at most the n most recent, oldest first", func(t *testing.T) {
			for n := 1; n <= 6; n++ {
				want := full[max(0, len(full)-n):]
				equal(t, "history by get", words(w.ok(t, "GetTask", obj{"id": id, "historyLength": n})), want)
				page := w.ok(t, "ListTasks", obj{"contextId": context, "historyLength": n})
				equal(t, "history by list", words(in(page, "tasks.0")), want)
			}
			short := w.ok(t, "SendMessage", obj{"message": say("x"), "configuration": obj{"historyLength": 1}})
			equal(t, "history by send", words(in(short, "task")), []string{"x"})
		})
		t.Run("R-062 none at 0, by get, send, stream and list", func(t *testing.T) {
			none := []any{
				w.ok(t, "GetTask", obj{"id": id, "historyLength": 0}),
				in(w.ok(t, "SendMessage", obj{"message": say("x"), "configuration": obj{"historyLength": 0}}), "task"),
				in(w.ok(t, "ListTasks", obj{"contextId": context, "historyLength": 0}), "tasks.0"),
				w.open(t, "SendStreamingMessage", obj{"message": say("x"), "configuration": obj{"historyLength": 0}}).must().body,
			}
			for i, task := range none {
				if has(task, "history") {
					t.Errorf("%d: history %s", i, compact(in(task, "history")))
				}
			}
		})
		t.Run("R-078 a negative length is refused", func(t *testing.T) {
			w.refused(t, invalid, "GetTask", obj{"id": id, "historyLength": -1})
			w.refused(t, invalid, "ListTasks", obj{"historyLength": -1})
			w.refused(t, invalid, "SendMessage", obj{"message": say("x"), "configuration": obj{"historyLength": -1}})
		})
		t.Run("R-128 R-129 R-130 every message has its ids, role and parts", func(t *testing.T) {
			seen := map[string]bool{}
			for i, m := range list(w.get(t, id), "history") {
				role := []string{"ROLE_USER", "ROLE_AGENT"}[i%2]
				equal(t, "role", in(m, "role"), role)
				equal(t, "contextId", in(m, "contextId"), context)
				equal(t, "taskId", in(m, "taskId"), id)
				if seen[text(m, "messageId")] || text(m, "messageId") == "" || len(list(m, "parts")) == 0 {
					t.Errorf("message %d: %s", i, compact(m))
				}
				seen[text(m, "messageId")] = true
			}
		})
	})
}

func TestConformanceCancel(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-033 the updated task comes back", func(t *testing.T) {
			t.Parallel()
			for _, sent := range []string{"sleep 600", "stream 600 1000", "ask", "auth"} {
				id := text(w.begin(t, say(sent)), "id")
				task := w.ok(t, "CancelTask", obj{"id": id, "metadata": obj{"why": "changed my mind"}})
				equal(t, "task", in(task, "id"), id)
				equal(t, "state", in(task, "status.state"), "TASK_STATE_CANCELED")
				equal(t, "task by get", w.get(t, id), task)
			}
		})
		t.Run("R-034 a finished task", func(t *testing.T) {
			t.Parallel()
			for _, sent := range []string{"echo x", "fail", "reject"} {
				task := w.send(t, say(sent))
				w.refused(t, "TASK_NOT_CANCELABLE", "CancelTask", obj{"id": in(task, "id")})
				equal(t, "the task after the refusal", w.get(t, text(task, "id")), task)
			}
		})
		t.Run("R-035 an unknown task", func(t *testing.T) {
			t.Parallel()
			w.refused(t, "TASK_NOT_FOUND", "CancelTask", obj{"id": "nobody-knows"})
		})
		t.Run("R-072 again with the same effect", func(t *testing.T) {
			t.Parallel()
			id := text(w.begin(t, say("sleep 600")), "id")
			first := w.ok(t, "CancelTask", obj{"id": id})
			for range 2 {
				equal(t, "the answer to a repeated cancel", w.ok(t, "CancelTask", obj{"id": id}), first)
			}
		})
	})
}

func TestConformanceSubscribe(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-036 R-037 the task first, then updates to the end", func(t *testing.T) {
			t.Parallel()
			id := text(w.begin(t, say("stream 5 20")), "id")
			events := w.open(t, "SubscribeToTask", obj{"id": id}).all()
			if events[0].kind != "task" || text(events[0].body, "id") != id {
				t.Errorf("the first event is %s", events[0].raw)
			}
			for _, e := range events[1:] {
				if e.kind != "statusUpdate" && e.kind != "artifactUpdate" {
					t.Errorf("a later event is a %s", e.kind)
				}
			}
			equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
		})
		t.Run("R-038 R-221 a finished task", func(t *testing.T) {
			t.Parallel()
			for _, sent := range []string{"echo x", "fail", "reject"} {
				w.refused(t, "UNSUPPORTED_OPERATION", "SubscribeToTask", obj{"id": in(w.send(t, say(sent)), "id")})
			}
			id := text(w.begin(t, say("sleep 600")), "id")
			w.ok(t, "CancelTask", obj{"id": id})
			w.refused(t, "UNSUPPORTED_OPERATION", "SubscribeToTask", obj{"id": id})
		})
		t.Run("R-039 an unknown task", func(t *testing.T) {
			t.Parallel()
			w.refused(t, "TASK_NOT_FOUND", "SubscribeToTask", obj{"id": "nobody-knows"})
		})
		t.Run("R-041 interrupted tasks can be watched across the interruption", func(t *testing.T) {
			t.Parallel()
			for _, sent := range []string{"ask", "auth"} {
				id := text(w.send(t, say(sent)), "id")
				s := w.open(t, "SubscribeToTask", obj{"id": id})
				equal(t, "first state", in(s.must().body, "status.state"), in(w.get(t, id), "status.state"))
				w.send(t, say("go on", "taskId", id))
				var artifacts int
				events := s.all()
				for _, e := range events {
					if e.kind == "artifactUpdate" {
						artifacts++
					}
				}
				equal(t, "artifact events", artifacts, 1)
				equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
			}
		})
	})
}

func TestConformanceMultiTurn(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-102 the context follows from the task", func(t *testing.T) {
			t.Parallel()
			asked := w.send(t, say("ask"))
			done := w.send(t, say("Ada", "taskId", in(asked, "id")))
			equal(t, "contextId", in(done, "contextId"), in(asked, "contextId"))
			equal(t, "id", in(done, "id"), in(asked, "id"))
			equal(t, "answer", in(done, "artifacts.0.parts.0.text"), "Ada")
		})
		t.Run("R-103 another context than the task's is refused", func(t *testing.T) {
			t.Parallel()
			asked := w.send(t, say("ask"))
			for _, op := range []string{"SendMessage", "SendStreamingMessage"} {
				w.refused(t, invalid, op, obj{"message": say("Ada", "taskId", in(asked, "id"), "contextId", "another")})
			}
			equal(t, "the task after the refusal", w.get(t, text(asked, "id")), asked)
		})
		t.Run("R-105 referenced tasks and the context are used", func(t *testing.T) {
			t.Parallel()
			first := w.send(t, say("echo draft"))
			by := func(more ...any) any { return w.send(t, say("refine better", more...)) }
			for _, refined := range []any{
				by("referenceTaskIds", []any{in(first, "id")}),
				by("contextId", in(first, "contextId")),
			} {
				equal(t, "artifact name", in(refined, "artifacts.0.name"), "echo")
				equal(t, "artifact", in(refined, "artifacts.0.parts.0.text"), "better")
				if text(refined, "id") == text(first, "id") ||
					text(refined, "artifacts.0.artifactId") == text(first, "artifacts.0.artifactId") {
					t.Errorf("ids are used again: %s", compact(refined))
				}
			}
		})
		t.Run("R-188 messages are taken at auth-required", func(t *testing.T) {
			t.Parallel()
			asked := w.send(t, say("auth"))
			done := w.send(t, say("done", "taskId", in(asked, "id")))
			equal(t, "state", in(done, "status.state"), "TASK_STATE_COMPLETED")
		})
	})
}
