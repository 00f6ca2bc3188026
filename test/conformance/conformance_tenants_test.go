package conformance

import "testing"

// TestConformanceTenants is about callers without a name, whom nothing but the
// tenant that they say keeps apart; TestConformanceIdentity has those with one.
func TestConformanceTenants(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		mine := obj{"tenant": "mine"}
		with := func(p obj, tenant string) obj {
			q := obj{"tenant": tenant}
			for k, v := range p {
				q[k] = v
			}
			return q
		}
		sent := w.ok(t, "SendMessage", with(obj{"message": say("ask")}, "mine"))
		id, context := text(sent, "task.id"), text(sent, "task.contextId")
		equal(t, "tasks of the tenant", in(w.ok(t, "ListTasks", mine), "totalSize"), 1)

		t.Run("R-024 R-027 R-258 another tenant's tasks are not listed, whatever the filter", func(t *testing.T) {
			for _, p := range []obj{{}, {"contextId": context}, {"status": "TASK_STATE_INPUT_REQUIRED"}} {
				equal(t, "tasks", in(w.ok(t, "ListTasks", with(p, "yours")), "totalSize"), 0)
				equal(t, "tasks without tenant", in(w.ok(t, "ListTasks", p), "totalSize"), 0)
			}
		})
		t.Run("R-077 R-081 R-257 R-259 another tenant's task and no task are answered alike", func(t *testing.T) {
			for op, p := range map[string]obj{
				"GetTask":              {"id": id},
				"CancelTask":           {"id": id},
				"SubscribeToTask":      {"id": id},
				"SendMessage":          {"message": say("x", "taskId", id)},
				"SendStreamingMessage": {"message": say("x", "taskId", id)},
			} {
				const unknown = "00000000-0000-0000-0000-000000000000"
				q := obj{"id": unknown}
				if m, ok := p["message"].(obj); ok {
					q = obj{"message": say("x", "taskId", unknown, "messageId", m["messageId"])}
				}
				foreign := w.refused(t, "TASK_NOT_FOUND", op, with(p, "yours"))
				absent := w.refused(t, "TASK_NOT_FOUND", op, with(q, "yours"))
				if a, b := len(foreign.message)-len(id), len(absent.message)-len(unknown); a != b && len(foreign.message) != len(absent.message) {
					t.Errorf("%s: %q and %q", op, foreign.message, absent.message)
				}
			}
			equal(t, "the task afterwards", w.ok(t, "GetTask", with(obj{"id": id}, "mine")), in(sent, "task"))
		})
		t.Run("R-238 every operation goes with a tenant", func(t *testing.T) {
			s := w.open(t, "SubscribeToTask", with(obj{"id": id}, "mine"))
			s.must()
			s.close()
			events := w.open(t, "SendStreamingMessage", with(obj{"message": say("x", "taskId", id)}, "mine")).all()
			equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
			w.refused(t, "TASK_NOT_CANCELABLE", "CancelTask", with(obj{"id": id}, "mine"))
			equal(t, "configs", len(list(w.ok(t, "ListTaskPushNotificationConfigs", with(obj{"taskId": id}, "mine")), "configs")), 0)
			w.refused(t, "TASK_NOT_FOUND", "ListTaskPushNotificationConfigs", with(obj{"taskId": id}, "yours"))
			w.refused(t, "UNSUPPORTED_OPERATION", "GetExtendedAgentCard", mine)
		})
	})
}
