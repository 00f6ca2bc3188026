package conformance

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

func TestConformanceList(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		// Seven tasks in one context: five completed, one failed, one waiting.
		first := w.send(t, say("echo 0"))
		context := text(first, "contextId")
		var ids []string // oldest first
		ids = append(ids, text(first, "id"))
		for _, sent := range []string{"echo 1", "fail", "echo 2", "ask", "data", "file"} {
			ids = append(ids, text(w.send(t, say(sent, "contextId", context)), "id"))
		}
		w.send(t, say("echo elsewhere"))
		of := func(more ...any) obj {
			p := obj{"contextId": context}
			for i := 0; i < len(more); i += 2 {
				p[more[i].(string)] = more[i+1]
			}
			return p
		}
		idsOf := func(page any) (got []string) {
			for _, task := range list(page, "tasks") {
				got = append(got, text(task, "id"))
			}
			return got
		}
		// pages reads all pages and calls between after each.
		pages := func(t *testing.T, params obj, between func()) (tasks []any) {
			t.Helper()
			for range 100 {
				page := w.ok(t, "ListTasks", params)
				tasks = append(tasks, list(page, "tasks")...)
				token, ok := in(page, "nextPageToken").(string)
				if !ok {
					t.Fatalf("no nextPageToken in %s", compact(page))
				}
				if token == "" {
					return tasks
				}
				between()
				params["pageToken"] = token
			}
			t.Fatal("no last page in a hundred")
			return nil
		}

		t.Run("R-020 no artifacts unless asked for", func(t *testing.T) {
			for _, params := range []obj{of(), of("includeArtifacts", false)} {
				for _, task := range list(w.ok(t, "ListTasks", params), "tasks") {
					if has(task, "artifacts") {
						t.Errorf("artifacts in %s", compact(task))
					}
				}
			}
		})
		t.Run("R-021 artifacts when asked for", func(t *testing.T) {
			tasks := list(w.ok(t, "ListTasks", of("includeArtifacts", true)), "tasks")
			for _, task := range tasks {
				equal(t, "task", task, w.get(t, text(task, "id")))
			}
			equal(t, "number of tasks", len(tasks), 7)
		})
		t.Run("R-022 R-023 R-031 all four members, always", func(t *testing.T) {
			for _, params := range []obj{of(), of("pageSize", 2), {"contextId": "empty"}, {}} {
				page := w.ok(t, "ListTasks", params)
				for _, member := range []string{"tasks", "nextPageToken", "pageSize", "totalSize"} {
					if !has(page, member) || in(page, member) == nil {
						t.Errorf("%s: no %s in %s", compact(params), member, compact(page))
					}
				}
			}
			empty := w.ok(t, "ListTasks", obj{"contextId": "empty"})
			equal(t, "an empty page", empty, obj{"tasks": []any{}, "nextPageToken": "", "pageSize": 50, "totalSize": 0})
		})
		t.Run("R-025 paging survives tasks that come between", func(t *testing.T) {
			context := text(w.send(t, say("echo 0")), "contextId")
			want := map[string]bool{}
			for i := range 5 {
				want[text(w.send(t, say(fmt.Sprint("echo ", i), "contextId", context)), "id")] = true
			}
			seen := map[string]bool{}
			for _, task := range pages(t, obj{"contextId": context, "pageSize": 2}, func() { w.send(t, say("echo new", "contextId", context)) }) {
				id := text(task, "id")
				if seen[id] {
					t.Errorf("task %s twice", id)
				}
				seen[id] = true
			}
			for id := range want {
				if !seen[id] {
					t.Errorf("task %s is lost", id)
				}
			}
		})
		t.Run("R-026 newest status first", func(t *testing.T) {
			tasks := pages(t, of("pageSize", 3), func() {})
			for i := 1; i < len(tasks); i++ {
				// Not as text: a full second may be written without its zeros.
				a, errA := time.Parse(time.RFC3339Nano, text(tasks[i-1], "status.timestamp"))
				b, errB := time.Parse(time.RFC3339Nano, text(tasks[i], "status.timestamp"))
				if errA != nil || errB != nil || a.Before(b) {
					t.Errorf("%v stands before %v (%v, %v)", a, b, errA, errB)
				}
			}
			equal(t, "number of tasks", len(tasks), 7)
			// An answer to the waiting task makes it the newest.
			w.send(t, say("Ada", "taskId", ids[4]))
			equal(t, "the newest", in(w.ok(t, "ListTasks", of("pageSize", 1)), "tasks.0.id"), ids[4])
		})
		t.Run("R-028 R-242 page sizes", func(t *testing.T) {
			for _, size := range []int{-1, 0, 101, math.MaxInt32} {
				if size == 0 && w.binding == grpcBinding {
					// The text refuses it here, too. The official Go client writes it wherever it was
					// given no size (a2a-go 2.3.1), and could list nothing then.
					equal(t, "pageSize for 0", in(w.ok(t, "ListTasks", of("pageSize", 0)), "pageSize"), 50)
					continue
				}
				w.refused(t, invalid, "ListTasks", of("pageSize", size))
			}
			for _, size := range []int{1, 6, 7, 100} {
				page := w.ok(t, "ListTasks", of("pageSize", size))
				equal(t, "number of tasks", len(list(page, "tasks")), min(size, 7))
				equal(t, "pageSize", in(page, "pageSize"), size)
			}
			equal(t, "default pageSize", in(w.ok(t, "ListTasks", of()), "pageSize"), 50)
		})
		t.Run("R-029 R-242 filters", func(t *testing.T) {
			equal(t, "failed tasks", idsOf(w.ok(t, "ListTasks", of("status", "TASK_STATE_FAILED"))), []string{ids[2]})
			for _, task := range list(w.ok(t, "ListTasks", obj{"status": "TASK_STATE_COMPLETED"}), "tasks") {
				equal(t, "state", in(task, "status.state"), "TASK_STATE_COMPLETED")
			}
			for _, task := range list(w.ok(t, "ListTasks", of()), "tasks") {
				equal(t, "contextId", in(task, "contextId"), context)
			}
			if w.binding != grpcBinding { // which has no such values
				w.refused(t, invalid, "ListTasks", of("pageSize", 1<<40))
				w.refused(t, invalid, "ListTasks", of("status", "TASK_STATE_NONSENSE"))
				w.refused(t, invalid, "ListTasks", of("statusTimestampAfter", "yesterday"))
			}
			w.refused(t, invalid, "ListTasks", of("pageToken", "made up"))
		})
		t.Run("R-030 R-172 R-242 statusTimestampAfter is inclusive and read in every form", func(t *testing.T) {
			at := text(w.get(t, ids[3]), "status.timestamp")
			page := w.ok(t, "ListTasks", of("statusTimestampAfter", at))
			found := false
			for _, task := range list(page, "tasks") {
				found = found || text(task, "id") == ids[3]
				if text(task, "status.timestamp") < at {
					t.Errorf("%s is before %s", text(task, "status.timestamp"), at)
				}
			}
			if !found {
				t.Errorf("the task of %s is not in %s", at, compact(page))
			}
			for _, same := range []string{"2000-01-01T00:00:00Z", "2000-01-01T00:00:00.123456789Z", "2000-01-01T02:00:00+02:00", "1999-12-31T22:00:00.5-02:00"} {
				equal(t, "tasks since "+same, in(w.ok(t, "ListTasks", of("statusTimestampAfter", same)), "totalSize"), 7)
			}
			moment, err := time.Parse(time.RFC3339, at)
			if err != nil {
				t.Fatal(err)
			}
			east := time.FixedZone("", 5*3600+30*60)
			exact := in(page, "totalSize")
			for _, same := range []time.Time{moment, moment.In(east), moment.In(time.FixedZone("", -8*3600))} {
				p := of("statusTimestampAfter", same.Format("2006-01-02T15:04:05.000Z07:00"))
				equal(t, "tasks since "+compact(p), in(w.ok(t, "ListTasks", p), "totalSize"), exact)
			}
			later := of("status", "TASK_STATE_COMPLETED", "statusTimestampAfter", time.Now().Add(time.Hour).In(east).Format(time.RFC3339))
			equal(t, "tasks since in an hour", in(w.ok(t, "ListTasks", later), "totalSize"), 0)
			earlier := of("statusTimestampAfter", time.Now().Add(-time.Hour).In(east).Format(time.RFC3339))
			equal(t, "tasks since an hour ago", in(w.ok(t, "ListTasks", earlier), "totalSize"), 7)
			equal(t, "tasks since 2999", in(w.ok(t, "ListTasks", of("statusTimestampAfter", "2999-01-01T00:00:00Z")), "totalSize"), 0)
		})
		t.Run("R-032 totalSize counts before paging", func(t *testing.T) {
			equal(t, "totalSize", in(w.ok(t, "ListTasks", of("pageSize", 2)), "totalSize"), 7)
			equal(t, "totalSize of the filtered", in(w.ok(t, "ListTasks", of("pageSize", 1, "status", "TASK_STATE_COMPLETED")), "totalSize"), 6)
		})
		t.Run("R-070 listing changes nothing", func(t *testing.T) {
			before := w.ok(t, "ListTasks", of("includeArtifacts", true))
			equal(t, "the same list again", w.ok(t, "ListTasks", of("includeArtifacts", true)), before)
		})
	})
}

// TestConformanceListUnfinished lists what is still folded from its log.
func TestConformanceListUnfinished(t *testing.T) {
	asking := func() agent.Agent {
		return agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Artifact("draft").Last(a2a.TextPart("so far")); err != nil {
				return err
			}
			_, err := t.Ask(ctx, "go on?")
			return err
		})
	}
	each(t, agent.DemoCard(), asking, func(t *testing.T, w *wire) {
		task := w.send(t, say("x"))
		equal(t, "artifact", in(task, "artifacts.0.parts.0.text"), "so far")
		t.Run("R-020 no artifacts unless asked for", func(t *testing.T) {
			listed := in(w.ok(t, "ListTasks", obj{}), "tasks.0")
			if text(listed, "id") != text(task, "id") || has(listed, "artifacts") {
				t.Errorf("%s", compact(listed))
			}
		})
		t.Run("R-021 artifacts when asked for", func(t *testing.T) {
			equal(t, "task", in(w.ok(t, "ListTasks", obj{"includeArtifacts": true}), "tasks.0"), task)
		})
	})
}
