package conformance

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// TestDraft11Elicitations has a subtest for each MUST of the draft's elicitations (#2149
// at 1fe50314), over each binding.
func TestDraft11Elicitations(t *testing.T) {
	t.Parallel()
	asks := agent.Func(func(ctx context.Context, tu *agent.Turn) error {
		got, err := tu.AskAll(ctx, agent.Question{ID: "city", Text: "Which city?"}, agent.Question{ID: "day", Text: "Which day?"},
			agent.Question{ID: "seat", Text: "Which seat, if you care?", Optional: true})
		if err != nil {
			return err
		}
		var all []string
		for _, id := range []string{"city", "day", "seat"} {
			all = append(all, id+"="+got[id].Text())
		}
		return tu.Complete(strings.Join(all, " "))
	})
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			elicitations11(t, dial(t, binding, start(t, agent.DemoCard(), asks, &parley.Options{})))
		})
	}
}

func elicitations11(t *testing.T, w *wire) {
	call := func(t *testing.T, op string, params any) any {
		t.Helper()
		return w.ok(t, op, params, "A2A-Version", "1.1")
	}
	begin := func(t *testing.T) any {
		t.Helper()
		return in(call(t, "SendMessage", obj{"message": say("go")}), "task")
	}
	answer := func(t *testing.T, id, words string, ids ...any) any {
		t.Helper()
		m := say(words, "taskId", id)
		if ids != nil {
			m["elicitationIds"] = ids
		}
		return in(call(t, "SendMessage", obj{"message": m}), "task")
	}
	states := func(v any) string {
		var all []string
		for _, e := range list(v, "elicitations") {
			all = append(all, text(e, "elicitationId")+" "+strings.TrimPrefix(text(e, "state"), "ELICITATION_STATE_"))
		}
		return strings.Join(all, ", ")
	}

	t.Run("E-1 E-2 several questions are asked at once, one of them not blocking; the status has the change, the task all", func(t *testing.T) {
		task := begin(t)
		equal(t, "state", text(task, "status.state"), "TASK_STATE_INPUT_REQUIRED")
		equal(t, "asked", states(task), "city BLOCKED, day BLOCKED, seat WAITING")
		equal(t, "with the status", states(in(task, "status")), "city BLOCKED, day BLOCKED, seat WAITING")
		task = answer(t, text(task, "id"), "Berlin", "city")
		equal(t, "state", text(task, "status.state"), "TASK_STATE_INPUT_REQUIRED")
		equal(t, "after one answer", states(task), "city RESOLVED, day BLOCKED, seat WAITING")
		equal(t, "its change", states(in(task, "status")), "city RESOLVED")
		task = answer(t, text(task, "id"), "Friday", "day")
		equal(t, "state", text(task, "status.state"), "TASK_STATE_COMPLETED")
		equal(t, "at the end none is removed", states(task), "city RESOLVED, day RESOLVED, seat WAITING")
		equal(t, "what the agent got", text(task, "status.message.parts.0.text"), "city=Berlin day=Friday seat=")
	})
	t.Run("E-3 the hints of a message are in the timeline, and so is each change", func(t *testing.T) {
		task := begin(t)
		task = answer(t, text(task, "id"), "all of it", "city", "day", "seat")
		equal(t, "what the agent got", text(task, "status.message.parts.0.text"), "city=all of it day=all of it seat=all of it")
		var hints, changes []string
		for _, e := range list(task, "timeline") {
			for _, id := range list(e, "message.elicitationIds") {
				hints = append(hints, id.(string))
			}
			if s := states(in(e, "status")); s != "" {
				changes = append(changes, s)
			}
		}
		equal(t, "hints", strings.Join(hints, ","), "city,day,seat")
		equal(t, "changes", strings.Join(changes, " | "), "city BLOCKED, day BLOCKED, seat WAITING | city RESOLVED, day RESOLVED, seat RESOLVED")
	})
	t.Run("E-4 a message without hints, or with unknown or answered ones, is taken", func(t *testing.T) {
		equal(t, "without", text(answer(t, text(begin(t), "id"), "x"), "status.state"), "TASK_STATE_COMPLETED")
		equal(t, "unknown", text(answer(t, text(begin(t), "id"), "x", "nobody"), "status.state"), "TASK_STATE_COMPLETED")
		id := text(begin(t), "id")
		answer(t, id, "x", "city")
		equal(t, "answered before", text(answer(t, id, "y", "city"), "status.message.parts.0.text"), "city=x day=y seat=")
	})
	t.Run("E-5 nothing of it is in 1.0, where one message answers all that blocks", func(t *testing.T) {
		s := w.open(t, "SendStreamingMessage", obj{"message": say("go")})
		id := ""
		for _, e := range s.all() {
			if e.kind == "task" {
				id = text(e.body, "id")
			}
			if strings.Contains(compact(e.body), "licitation") {
				t.Errorf("a stream of 1.0 has %s", compact(e.body))
			}
		}
		m := say("any", "taskId", id)
		m["elicitationIds"] = []any{"city"}
		res := w.ok(t, "SendMessage", obj{"message": m})
		if strings.Contains(compact(res), "licitation") {
			t.Errorf("1.0 is answered %s", compact(res))
		}
		equal(t, "state", text(res, "task.status.state"), "TASK_STATE_COMPLETED")
		if task := w.ok(t, "GetTask", obj{"id": id}); strings.Contains(compact(task), "licitation") {
			t.Errorf("a finished task in 1.0 is %s", compact(task))
		}
	})
}
