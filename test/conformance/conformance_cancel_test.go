package conformance

import "testing"

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
