package conformance

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
)

// TestDraft11 has a subtest for each MUST of the 1.1 draft that is not one of 1.0
// (docs/draft-1.1.md), over each binding.
func TestDraft11(t *testing.T) {
	t.Parallel()
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			w := dial(t, binding, start(t, agent.DemoCard(), agent.Demo(), &parley.Options{Egress: &a2aserver.Egress{Loopback: true}}))
			draft11(t, w)
			timeline11(t, w)
		})
	}
}

func draft11(t *testing.T, w *wire) {
	call := func(t *testing.T, op string, params any) any {
		t.Helper()
		return w.ok(t, op, params, "A2A-Version", "1.1")
	}
	// generation is a number that JSON has as a string.
	generation := func(t *testing.T, v any) int64 {
		t.Helper()
		n, err := strconv.ParseInt(fmt.Sprint(in(v, "generation")), 10, 64)
		if err != nil {
			t.Fatalf("no generation in %s", compact(v))
		}
		return n
	}
	asked := func(t *testing.T) (id string, at int64) {
		t.Helper()
		task := in(call(t, "SendMessage", obj{"message": say("ask")}), "task")
		return text(task, "id"), generation(t, task)
	}

	t.Run("D-1 D-2 D-3 a generation is 1 at first and one higher with each event, which has it", func(t *testing.T) {
		s := w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}, "A2A-Version", "1.1")
		var last int64
		for i, e := range s.all() {
			g := generation(t, e.body)
			switch {
			case i == 0 && (e.kind != "task" || g != 1):
				t.Errorf("the first element is %s of generation %d", e.kind, g)
			case i > 0 && g != last+1:
				t.Errorf("event %d, %s, has generation %d behind %d", i, e.kind, g, last)
			}
			last = g
		}
		if last < 4 {
			t.Errorf("the last generation is %d", last)
		}
	})
	t.Run("D-4 the task has the generation of its last event", func(t *testing.T) {
		s := w.open(t, "SendStreamingMessage", obj{"message": say("echo x")}, "A2A-Version", "1.1")
		all := s.all()
		first, last := all[0], all[len(all)-1]
		task := call(t, "GetTask", obj{"id": text(first.body, "id")})
		if generation(t, task) != generation(t, last.body) {
			t.Errorf("the task has %d, its last event %d", generation(t, task), generation(t, last.body))
		}
		list := list(call(t, "ListTasks", obj{"contextId": text(task, "contextId")}), "tasks")
		if len(list) != 1 || generation(t, list[0]) != generation(t, task) {
			t.Errorf("the list has %s", compact(list))
		}
	})
	t.Run("D-5 D-6 without currentGeneration, and with one that is passed, GetTask answers at once", func(t *testing.T) {
		id, at := asked(t)
		for _, params := range []obj{{"id": id}, {"id": id, "currentGeneration": at - 1}, {"id": id, "currentGeneration": 0}} {
			if got := generation(t, call(t, "GetTask", params)); got != at {
				t.Errorf("%s: generation %d, want %d", compact(params), got, at)
			}
		}
	})
	t.Run("D-7 with the newest generation GetTask waits for the next", func(t *testing.T) {
		id, at := asked(t)
		got := make(chan any, 1)
		go func() {
			got <- w.call(t, "GetTask", obj{"id": id, "currentGeneration": at}, "A2A-Version", "1.1").result
		}()
		call(t, "SendMessage", obj{"message": say("Berlin", "taskId", id)})
		if task := <-got; task == nil || generation(t, task) <= at {
			t.Errorf("answered with %s, want more than %d", compact(task), at)
		}
	})
	t.Run("D-8 ifGenerationMatch refuses a message to a task that has changed, and takes one to a task that has not", func(t *testing.T) {
		id, at := asked(t)
		for _, wrong := range []int64{at - 1, at + 1} {
			a := w.call(t, "SendMessage", obj{"message": say("Berlin", "taskId", id), "configuration": obj{"ifGenerationMatch": wrong}}, "A2A-Version", "1.1")
			if a.fault == nil || a.fault.reason() != "TASK_GENERATION_MISMATCH" {
				t.Fatalf("generation %d of %d: %d %s", wrong, at, a.status, a.body)
			}
			switch w.binding {
			case jsonrpc:
				equal(t, "code", a.fault.code, "-32010")
			case rest:
				equal(t, "status", fmt.Sprint(a.status, " ", a.fault.status), "409 ABORTED")
			default:
				equal(t, "status", a.fault.status, "ABORTED")
			}
			said := obj{}
			for _, d := range a.fault.details {
				if m := in(d, "metadata"); m != nil {
					said = obj{"taskId": in(m, "taskId"), "expectedGeneration": in(m, "expectedGeneration"), "currentGeneration": in(m, "currentGeneration")}
				}
			}
			equal(t, "what is said", compact(said), compact(obj{"taskId": id, "expectedGeneration": fmt.Sprint(wrong), "currentGeneration": fmt.Sprint(at)}))
		}
		task := in(call(t, "SendMessage", obj{"message": say("Berlin", "taskId", id), "configuration": obj{"ifGenerationMatch": at}}), "task")
		if text(task, "status.state") != "TASK_STATE_COMPLETED" || generation(t, task) <= at {
			t.Errorf("%s", compact(task))
		}
	})
	t.Run("D-9 ifGenerationMatch of a new task is ignored", func(t *testing.T) {
		task := in(call(t, "SendMessage", obj{"message": say("echo x"), "configuration": obj{"ifGenerationMatch": 7}}), "task")
		equal(t, "state", text(task, "status.state"), "TASK_STATE_COMPLETED")
	})
	t.Run("D-10 nothing of it is in 1.0", func(t *testing.T) {
		id, at := asked(t)
		if task := w.ok(t, "GetTask", obj{"id": id, "currentGeneration": at}); has(task, "generation") {
			t.Errorf("%s", compact(task))
		}
		w.ok(t, "SendMessage", obj{"message": say("Berlin", "taskId", id), "configuration": obj{"ifGenerationMatch": 99}})
	})
}
