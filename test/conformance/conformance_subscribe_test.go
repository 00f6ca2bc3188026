package conformance

import (
	"testing"

	"github.com/parley-a2a/parley/agent"
)

func TestConformanceSubscribe(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-036 R-037 the task first, then updates to the end", func(t *testing.T) {
			t.Parallel()
			id := text(w.send(t, say("ask")), "id") // it waits until we look
			s := w.open(t, "SubscribeToTask", obj{"id": id})
			if first := s.must(); first.kind != "task" || text(first.body, "id") != id {
				t.Errorf("the first event is %s", first.raw)
			}
			w.send(t, say("Ada", "taskId", id))
			events := s.all()
			for _, e := range events {
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

// TestConformanceSubscribeAcross watches a task that asks a second time.
func TestConformanceSubscribeAcross(t *testing.T) {
	each(t, agent.DemoCard(), interview, func(t *testing.T, w *wire) {
		t.Run("R-041 a subscription stays open at the next question", func(t *testing.T) {
			id := text(w.send(t, say("hello")), "id")
			s := w.open(t, "SubscribeToTask", obj{"id": id})
			equal(t, "first event", s.must().kind, "task")
			w.send(t, say("one", "taskId", id))
			for e := s.must(); text(e.body, "status.message.parts.0.text") != "second?"; e = s.must() {
			}
			w.send(t, say("two", "taskId", id))
			events := s.all()
			equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
		})
	})
}
