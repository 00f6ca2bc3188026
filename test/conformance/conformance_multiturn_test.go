package conformance

import "testing"

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
