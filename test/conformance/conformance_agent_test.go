package conformance

import (
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

// eachKit is each with the agent that conformance kits drive.
func eachKit(t *testing.T, f func(t *testing.T, w *wire)) {
	t.Helper()
	each(t, agent.ConformanceCard(), agent.Conformance, f)
}

// bid is a message that tells the conformance agent what to do by its id.
func bid(prefix string, more ...any) obj {
	return say("hello", append([]any{"messageId", prefix + "-" + rand.Text()}, more...)...)
}

// spell writes down what the agent emitted, an event a word: states with the
// parts of their message, artifacts with their marks and parts.
func spell(t *testing.T, events []event) string {
	t.Helper()
	var words []string
	artifacts := map[string]bool{}
	for _, e := range events {
		word := ""
		switch e.kind {
		case "message":
			word = "message" + compact(in(e.body, "parts"))
		case "artifactUpdate":
			id := text(e.body, "artifact.artifactId")
			if appends := in(e.body, "append") == true; appends != artifacts[id] || id == "" {
				t.Errorf("append is %v where the artifact %q has begun: %v", appends, id, artifacts[id])
			}
			artifacts[id] = true
			word = "artifact" + compact(in(e.body, "artifact.parts"))
			if in(e.body, "lastChunk") == true {
				word += "."
			}
		default:
			word = strings.TrimPrefix(text(e.body, "status.state"), "TASK_STATE_")
			if parts := in(e.body, "status.message.parts"); parts != nil {
				word += compact(parts)
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// conformanceEvents is the table that kits rely on.
var conformanceEvents = map[string]string{
	"tck-complete-task":           `COMPLETED[{"text":"Hello from TCK"}]`,
	"tck-artifact-text":           `artifact[{"text":"Generated text content"}]. COMPLETED`,
	"tck-artifact-file":           `artifact[{"filename":"output.txt","mediaType":"text/plain","raw":"dGNr"}]. COMPLETED`,
	"tck-artifact-file-url":       `artifact[{"filename":"output.txt","mediaType":"text/plain","url":"https://example.com/output.txt"}]. COMPLETED`,
	"tck-artifact-data":           `artifact[{"data":{"count":42,"key":"value"}}]. COMPLETED`,
	"tck-stream-001":              `WORKING artifact[{"text":"Stream hello from TCK"}]. COMPLETED`,
	"tck-stream-002":              `COMPLETED`,
	"tck-stream-003":              `WORKING artifact[{"text":"Stream task lifecycle"}]. COMPLETED`,
	"tck-stream-ordering-001":     `WORKING artifact[{"text":"Ordered output"}]. COMPLETED`,
	"tck-stream-artifact-text":    `WORKING artifact[{"text":"Streamed text content"}]. COMPLETED`,
	"tck-stream-artifact-file":    `WORKING artifact[{"filename":"output.txt","mediaType":"text/plain","raw":"dGNr"}]. COMPLETED`,
	"tck-stream-artifact-chunked": `WORKING artifact[{"text":"chunk-1 "}] artifact[{"text":"chunk-2"}]. COMPLETED`,
	"tck-reject-task":             `REJECTED`,
	"tck-no-such-row":             `COMPLETED[{"text":"Done"}]`,
}

const kitQuestion = `INPUT_REQUIRED[{"text":"What should happen to this task?"}]`

func TestConformanceAgent(t *testing.T) {
	eachKit(t, func(t *testing.T, w *wire) {
		t.Run("a stream has the events of the table behind the new task", func(t *testing.T) {
			t.Parallel()
			for prefix, want := range conformanceEvents {
				byID, byText := bid(prefix), say(prefix+" and more words")
				for _, message := range []obj{byID, byText} {
					events := w.open(t, "SendStreamingMessage", obj{"message": message}).all()
					task := events[0].body
					equal(t, "state at the beginning", in(task, "status.state"), "TASK_STATE_SUBMITTED")
					equal(t, "messages at the beginning", len(list(task, "history")), 1)
					equal(t, "message at the beginning", in(task, "history.0.messageId"), message["messageId"])
					if got := spell(t, events[1:]); got != want {
						t.Errorf("%s: the events are\n%s\nwant\n%s", prefix, got, want)
					}
				}
			}
		})
		t.Run("a call has the task that the events amount to", func(t *testing.T) {
			t.Parallel()
			for prefix, want := range conformanceEvents {
				task := w.send(t, bid(prefix))
				chunks := strings.Count(want, "artifact[")
				equal(t, "number of artifacts of "+prefix, len(list(task, "artifacts")), min(chunks, 1))
				equal(t, "number of parts of "+prefix, len(list(task, "artifacts.0.parts")), chunks)
				last := []event{{kind: "task", body: task}}
				if end := spell(t, last); !strings.HasSuffix(" "+want, " "+end) {
					t.Errorf("%s ends as %s, want %s", prefix, end, want)
				}
				equal(t, "task by get", w.get(t, text(task, "id")), task)
			}
		})
		t.Run("tck-message-response is a direct message", func(t *testing.T) {
			t.Parallel()
			m := w.direct(t, bid("tck-message-response"), nil)
			equal(t, "parts", in(m, "parts"), []any{obj{"text": "Direct message response"}})
			var events []event
			for range 100 { // see wire.direct
				events = w.open(t, "SendStreamingMessage", obj{"message": bid("tck-message-response")}).all()
				if events[0].kind == "message" {
					break
				}
			}
			equal(t, "stream", spell(t, events), `message[{"text":"Direct message response"}]`)
		})
		// The engine says WORKING when an answer has come; what follows is the table's.
		t.Run("tck-input-required stays open, follow-ups go by their own prefix", func(t *testing.T) {
			t.Parallel()
			for prefix, want := range conformanceEvents {
				events := w.open(t, "SendStreamingMessage", obj{"message": bid("tck-input-required")}).all()
				equal(t, "events", spell(t, events[1:]), kitQuestion)
				id := text(events[0].body, "id")
				again := w.send(t, bid("tck-input-required", "taskId", id))
				equal(t, "after another question", spell(t, []event{{kind: "task", body: again}}), kitQuestion)
				events = w.open(t, "SendStreamingMessage", obj{"message": bid(prefix, "taskId", id)}).all()
				equal(t, "task", in(events[0].body, "id"), id)
				equal(t, "events of "+prefix+" on the task", spell(t, events), "WORKING "+want)
			}
		})
		t.Run("tck-message-response on a task that waits completes it", func(t *testing.T) {
			t.Parallel()
			id := text(w.send(t, bid("tck-input-required")), "id")
			task := w.send(t, bid("tck-message-response", "taskId", id))
			equal(t, "task", spell(t, []event{{kind: "task", body: task}}), `COMPLETED[{"text":"Direct message response"}]`)
		})
		t.Run("test-resubscribe-message-id works until it is watched again", func(t *testing.T) {
			t.Parallel()
			s := w.open(t, "SendStreamingMessage", obj{"message": bid("test-resubscribe-message-id")})
			id := text(s.must().body, "id")
			equal(t, "first event", spell(t, []event{s.must()}), "WORKING")
			s.close()
			again := w.open(t, "SubscribeToTask", obj{"id": id})
			equal(t, "task on the new stream", spell(t, []event{again.must()}), "WORKING")
			w.ok(t, "CancelTask", obj{"id": id}) // or it takes 5 s
			equal(t, "rest", spell(t, again.all()), "CANCELED")
		})
		t.Run("many at once do not get into each other's way", func(t *testing.T) {
			t.Parallel()
			for i := range 8 {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					t.Parallel()
					for _, prefix := range slices.Sorted(maps.Keys(conformanceEvents)) {
						events := w.open(t, "SendStreamingMessage", obj{"message": say("x", "messageId", prefix)}).all()
						equal(t, prefix, spell(t, events[1:]), conformanceEvents[prefix])
					}
				})
			}
		})
	})
}
