package conformance

import (
	"context"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

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
		two := w.ok(t, "SendMessage", obj{"message": say("two", "taskId", id), "configuration": obj{"historyLength": 2}})
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
			equal(t, "history by send", words(in(two, "task")), full[3:])
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
