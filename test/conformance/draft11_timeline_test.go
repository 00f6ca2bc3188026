package conformance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// timeline11 has a subtest for each MUST of the draft's timeline (#2129 at b5fe6101) and
// of what #2153 at 67f4f6df says of messages and webhooks.
func timeline11(t *testing.T, w *wire) {
	call := func(t *testing.T, op string, params any) any {
		t.Helper()
		return w.ok(t, op, params, "A2A-Version", "1.1")
	}
	number := func(t *testing.T, v any, name string) int64 {
		t.Helper()
		n, err := strconv.ParseInt(fmt.Sprint(in(v, name)), 10, 64)
		if err != nil {
			t.Fatalf("no %s in %s", name, compact(v))
		}
		return n
	}
	// told asks, is asked, and answers: a task with two messages of the client's.
	told := func(t *testing.T) any {
		t.Helper()
		task := in(call(t, "SendMessage", obj{"message": say("ask")}), "task")
		return in(call(t, "SendMessage", obj{"message": say("Berlin", "taskId", text(task, "id"))}), "task")
	}

	t.Run("D-11 D-12 each message and status is an entry with the generation behind it, in order", func(t *testing.T) {
		task := call(t, "GetTask", obj{"id": text(told(t), "id")})
		var kinds []string
		last := int64(0)
		for i, e := range list(task, "timeline") {
			g := number(t, e, "generation")
			if i == 0 && g != 1 || g <= last {
				t.Errorf("entry %d has generation %d behind %d", i, g, last)
			}
			last = g
			switch {
			case has(e, "message"):
				kinds = append(kinds, "message "+text(e, "message.parts.0.text"))
			case has(e, "status"):
				kinds = append(kinds, strings.TrimPrefix(text(e, "status.state"), "TASK_STATE_"))
			default:
				t.Errorf("neither: %s", compact(e))
			}
		}
		if want := "message ask,INPUT_REQUIRED,message Berlin,WORKING,COMPLETED"; strings.Join(kinds, ",") != want {
			t.Errorf("the timeline is %s, want %s", strings.Join(kinds, ","), want)
		}
		equal(t, "the task's generation", number(t, task, "generation"), last)
		if len(list(task, "history")) == 0 {
			t.Error("there is no history, which 1.x keeps")
		}
	})
	t.Run("D-13 a client's message raises the generation by one, and observers of 1.1 get it", func(t *testing.T) {
		task := in(call(t, "SendMessage", obj{"message": say("ask")}), "task")
		before := number(t, task, "generation")
		s := w.open(t, "SubscribeToTask", obj{"id": text(task, "id")}, "A2A-Version", "1.1")
		old := w.open(t, "SubscribeToTask", obj{"id": text(task, "id")})
		for _, stream := range []*stream{s, old} {
			if e := stream.must(); e.kind != "task" {
				t.Fatalf("the stream begins with %s", e.kind)
			}
		}
		call(t, "SendMessage", obj{"message": say("Berlin", "taskId", text(task, "id"))})
		all := s.all()
		if len(all) == 0 || all[0].kind != "messageUpdate" || text(all[0].body, "message.parts.0.text") != "Berlin" ||
			text(all[0].body, "taskId") != text(task, "id") || text(all[0].body, "contextId") != text(task, "contextId") {
			t.Fatalf("got %v", all)
		}
		for i, e := range all {
			equal(t, "generation of element "+strconv.Itoa(i), number(t, e.body, "generation"), before+1+int64(i))
		}
		for _, e := range old.all() {
			if e.kind == "messageUpdate" {
				t.Errorf("an observer of 1.0 got %s", compact(e.body))
			}
		}
	})
	t.Run("D-14 timelineLength is the most entries, 0 none", func(t *testing.T) {
		id := text(told(t), "id")
		for n, want := range map[int]int{0: 0, 1: 1, 3: 3, 99: 5} {
			task := call(t, "GetTask", obj{"id": id, "timelineLength": n})
			equal(t, fmt.Sprint("entries of ", n), len(list(task, "timeline")), want)
			if n == 0 && has(task, "timeline") {
				t.Error("an empty timeline is there")
			}
			page := list(call(t, "ListTasks", obj{"contextId": text(task, "contextId"), "timelineLength": n}), "tasks")
			equal(t, fmt.Sprint("entries in a list of ", n), len(list(page[0], "timeline")), want)
		}
		task := in(call(t, "SendMessage", obj{"message": say("echo x"), "configuration": obj{"timelineLength": 1}}), "task")
		equal(t, "entries of a send", len(list(task, "timeline")), 1)
		equal(t, "the entry of a send", text(task, "timeline.0.status.state"), "TASK_STATE_COMPLETED")
		a := w.call(t, "GetTask", obj{"id": id, "timelineLength": -1}, "A2A-Version", "1.1")
		if a.fault == nil {
			t.Errorf("-1 is taken: %s", a.body)
		}
	})
	t.Run("D-15 an artifact has the generations at which it began and was complete", func(t *testing.T) {
		s := w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}, "A2A-Version", "1.1")
		var id string
		var chunks []int64
		for _, e := range s.all() {
			if e.kind == "task" {
				id = text(e.body, "id")
			}
			if e.kind == "artifactUpdate" {
				chunks = append(chunks, number(t, e.body, "generation"))
			}
		}
		task := call(t, "GetTask", obj{"id": id})
		equal(t, "start", number(t, in(task, "artifacts.0"), "startGeneration"), chunks[0])
		equal(t, "end", number(t, in(task, "artifacts.0"), "endGeneration"), chunks[len(chunks)-1])
	})
	t.Run("D-16 a webhook is posted in the version of its protocolVersion, else of its request", func(t *testing.T) {
		for said, want := range map[string]string{"": "1.1", "1.0": "1.0", "0.3": "0.3"} {
			m := newMailbox(t, nil)
			config := obj{"url": m.url}
			if said != "" {
				config["protocolVersion"] = said
			}
			task := in(call(t, "SendMessage", obj{"message": say("ask"), "configuration": obj{"taskPushNotificationConfig": config}}), "task")
			p := receive(t, m.posts, "a webhook")
			if got := p.header.Get("A2A-Version"); got != want && want != "0.3" { // which has no such header
				t.Errorf("A2A-Version of %q is %q, want %s", said, got, want)
			}
			body := decode(t, p.raw)
			if (want == "0.3") != (text(body, "kind") == "task") || (want == "1.1") != strings.Contains(string(p.raw), `"generation"`) {
				t.Errorf("a receiver of %s got %s", want, p.raw)
			}
			configs := list(call(t, "ListTaskPushNotificationConfigs", obj{"taskId": text(task, "id")}), "configs")
			equal(t, "protocolVersion", text(configs[0], "protocolVersion"), want)
			if plain := list(w.ok(t, "ListTaskPushNotificationConfigs", obj{"taskId": text(task, "id")}), "configs"); has(plain[0], "protocolVersion") {
				t.Errorf("1.0 sees %s", compact(plain[0]))
			}
		}
		a := w.call(t, "SendMessage", obj{"message": say("ask"), "configuration": obj{"taskPushNotificationConfig": obj{"url": "http://127.0.0.1:1", "protocolVersion": "7.0"}}}, "A2A-Version", "1.1")
		if a.fault == nil || !strings.Contains(a.fault.message, "protocolVersion") {
			t.Errorf("version 7.0 is taken: %s", a.body)
		}
	})
	t.Run("D-17 nothing of it is in 1.0", func(t *testing.T) {
		id := text(told(t), "id")
		task := w.ok(t, "GetTask", obj{"id": id, "timelineLength": 5})
		if has(task, "timeline") || has(task, "artifacts.0.startGeneration") {
			t.Errorf("%s", compact(task))
		}
	})
}

// Parley's client reads the messages of others in a stream: what it folds is what the
// server has, over each binding.
func TestDraft11Client(t *testing.T) {
	t.Parallel()
	url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{})
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		c, err := a2aclient.Dial(t.Context(), url, &a2aclient.Options{Version: "1.1", Bindings: []string{binding}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.UserText("ask")})
		if err != nil {
			t.Fatal(err)
		}
		answer := a2a.UserText("Berlin")
		answer.TaskID = res.Task.ID
		var folded a2a.Task
		said := 0
		for el, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: res.Task.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			if folded.ApplyEvent(el); el.Task != nil {
				if _, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: answer}); err != nil {
					t.Fatal(err)
				}
			}
			if el.MessageUpdate != nil {
				said++
			}
		}
		task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: res.Task.ID, TimelineLength: new(int32(2))})
		if err != nil {
			t.Fatal(err)
		}
		if said != 1 || len(folded.History) != len(task.History) || folded.Generation != task.Generation || len(task.Timeline) != 2 {
			t.Errorf("%s: %d messages; folded %d of generation %d, the task has %d of %d, %d entries", binding, said,
				len(folded.History), folded.Generation, len(task.History), task.Generation, len(task.Timeline))
		}
	}
}
