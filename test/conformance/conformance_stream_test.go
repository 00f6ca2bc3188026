package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

func TestConformanceStream(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		t.Run("R-008 R-215 R-235 the stream is server-sent events", func(t *testing.T) {
			t.Parallel()
			if w.binding == grpcBinding {
				return
			}
			s := w.open(t, "SendStreamingMessage", obj{"message": say("echo x")}) // checks status and media type
			if cache := s.resp.Header.Get("Cache-Control"); !strings.Contains(cache, "no-cache") && !strings.Contains(cache, "no-store") {
				t.Errorf("Cache-Control %q", cache)
			}
			s.all()
		})
		t.Run("R-009 a direct message is the only event", func(t *testing.T) {
			t.Parallel()
			var events []event
			for range 100 { // see wire.direct
				events = w.open(t, "SendStreamingMessage", obj{"message": say("message hello")}).all()
				if events[0].kind == "message" {
					break
				}
			}
			if len(events) != 1 || events[0].kind != "message" {
				t.Fatalf("%d events: %v", len(events), events)
			}
			equal(t, "text", in(events[0].body, "parts.0.text"), "hello")
		})
		t.Run("R-010 R-011 R-012 R-248 the task first, then updates, then the end", func(t *testing.T) {
			t.Parallel()
			for sent, state := range map[string]string{
				"echo x": "TASK_STATE_COMPLETED", "stream 3 1": "TASK_STATE_COMPLETED",
				"fail": "TASK_STATE_FAILED", "reject": "TASK_STATE_REJECTED",
			} {
				events := w.open(t, "SendStreamingMessage", obj{"message": say(sent)}).all()
				if events[0].kind != "task" {
					t.Errorf("%s: the first event is a %s", sent, events[0].kind)
				}
				for _, e := range events[1:] {
					if e.kind != "statusUpdate" && e.kind != "artifactUpdate" {
						t.Errorf("%s: a later event is a %s", sent, e.kind)
					}
				}
				equal(t, "last state of "+sent, in(events[len(events)-1].body, "status.state"), state)
				for _, e := range events[:len(events)-1] {
					if terminal(text(e.body, "status.state")) {
						t.Errorf("%s goes on after a terminal state", sent)
					}
				}
			}
		})
		t.Run("R-106 events come in order", func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, e := range w.open(t, "SendStreamingMessage", obj{"message": say("stream 50 1")}).all() {
				if e.kind == "artifactUpdate" {
					n++
					equal(t, "chunk", in(e.body, "artifact.parts.0.text"), fmt.Sprintf("chunk %d\n", n))
				}
			}
			equal(t, "number of chunks", n, 50)
		})
		t.Run("R-133 R-134 members of the update events", func(t *testing.T) {
			t.Parallel()
			events := w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}).all()
			for _, e := range events[1:] {
				equal(t, "taskId", in(e.body, "taskId"), in(events[0].body, "id"))
				equal(t, "contextId", in(e.body, "contextId"), in(events[0].body, "contextId"))
				switch e.kind {
				case "statusUpdate":
					if text(e.body, "status.state") == "" {
						t.Errorf("no status in %s", e.raw)
					}
				case "artifactUpdate":
					if text(e.body, "artifact.artifactId") == "" || len(list(e.body, "artifact.parts")) == 0 {
						t.Errorf("no artifact in %s", e.raw)
					}
				}
				if has(e.body, "final") || has(e.body, "kind") {
					t.Errorf("a member of an older protocol in %s", e.raw)
				}
			}
		})
		t.Run("R-135 chunks add up to the artifact", func(t *testing.T) {
			t.Parallel()
			events := w.open(t, "SendStreamingMessage", obj{"message": say("stream 20 1")}).all()
			parts := map[string][]any{}
			for _, e := range events {
				if e.kind != "artifactUpdate" {
					continue
				}
				id, add := text(e.body, "artifact.artifactId"), in(e.body, "append") == true
				if _, begun := parts[id]; add != begun {
					t.Errorf("append is %v where begun is %v: %s", add, begun, e.raw)
				}
				parts[id] = append(parts[id], list(e.body, "artifact.parts")...)
			}
			task := w.get(t, text(events[0].body, "id"))
			if len(parts) != 1 || len(list(task, "artifacts")) != 1 {
				t.Fatalf("%d artifacts in the stream, %d in the task", len(parts), len(list(task, "artifacts")))
			}
			equal(t, "parts", in(task, "artifacts.0.parts"), parts[text(task, "artifacts.0.artifactId")])
		})
		t.Run("R-187 a stream stays open at auth-required", func(t *testing.T) {
			t.Parallel()
			s := w.open(t, "SendStreamingMessage", obj{"message": say("auth")})
			id := text(s.must().body, "id")
			for e := s.must(); text(e.body, "status.state") != "TASK_STATE_AUTH_REQUIRED"; e = s.must() {
			}
			w.send(t, say("here you are", "taskId", id))
			events := s.all()
			equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
		})
		t.Run("R-187 and closes at input-required", func(t *testing.T) {
			t.Parallel()
			events := w.open(t, "SendStreamingMessage", obj{"message": say("ask")}).all()
			equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_INPUT_REQUIRED")
		})
	})
}

// TestConformanceStreamWhileWorking holds the agent where it wants to look.
func TestConformanceStreamWhileWorking(t *testing.T) {
	t.Parallel()
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			h := newHeld()
			w := dial(t, binding, start(t, agent.DemoCard(), h, nil))
			t.Run("R-013 events come while the agent works", func(t *testing.T) {
				s := w.open(t, "SendStreamingMessage", obj{"message": say("work")})
				equal(t, "first event", s.must().kind, "task")
				for e := s.must(); text(e.body, "status.message.parts.0.text") != "held"; e = s.must() {
				}
				h.release <- struct{}{}
				receive(t, h.started, "the start of the agent")
				if n := len(s.all()); n == 0 {
					t.Error("nothing came after the release")
				}
			})
			t.Run("R-036 R-107 R-108 R-160 every stream of a task gets every event in the same order", func(t *testing.T) {
				streams := []*stream{w.open(t, "SendStreamingMessage", obj{"message": say("work")})}
				id := receive(t, h.started, "the start of the agent")
				streams[0].must() // the agent may be ahead of what others may know
				for _, via := range []string{jsonrpc, rest, w.binding} {
					s := w.over(via).open(t, "SubscribeToTask", obj{"id": id})
					equal(t, "first event", s.must().kind, "task")
					streams = append(streams, s)
				}
				h.release <- struct{}{}
				var want []any // ids of events are alike, too
				for i, s := range streams {
					var got []any
					for _, e := range s.all() {
						if e.kind == "artifactUpdate" || terminal(text(e.body, "status.state")) {
							if w.binding == grpcBinding { // the first of these streams has no ids
								e.id = ""
							}
							got = append(got, obj{e.id + " " + e.kind: e.body})
						}
					}
					if i == 0 {
						want = got
					}
					equal(t, fmt.Sprintf("stream %d", i), got, want)
				}
				if len(want) < 4 {
					t.Errorf("only %d events", len(want))
				}
			})
			t.Run("R-109 closing one stream leaves the others", func(t *testing.T) {
				gone := w.open(t, "SendStreamingMessage", obj{"message": say("work")})
				id := receive(t, h.started, "the start of the agent")
				gone.must() // the agent may be ahead of what others may know
				stays := w.open(t, "SubscribeToTask", obj{"id": id})
				gone.close()
				stays.must()
				h.release <- struct{}{}
				events := stays.all()
				equal(t, "last state", in(events[len(events)-1].body, "status.state"), "TASK_STATE_COMPLETED")
			})
			t.Run("R-110 a task goes on without any stream", func(t *testing.T) {
				only := w.open(t, "SendStreamingMessage", obj{"message": say("work")})
				id := receive(t, h.started, "the start of the agent")
				only.must()
				only.close()
				h.release <- struct{}{}
				w.until(t, id, "TASK_STATE_COMPLETED")
			})
		})
	}
}
