package conformance

import "testing"

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
