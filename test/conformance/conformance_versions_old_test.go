package conformance

import (
	"io"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// rawly makes a call of JSON-RPC and returns the body of the answer, be it JSON
// or a stream to its end.
func rawly(t *testing.T, w *wire, method, version string, params obj) string {
	t.Helper()
	resp, err := w.client.Do(w.request(t.Context(), method, params, []string{"A2A-Version", version}))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Where versions differ in what a call means, each means what it meant.
func TestConformanceOlderVersions(t *testing.T) {
	t.Parallel()
	w := dial(t, jsonrpc, start(t, agent.DemoCard(), agent.Demo(), &parley.Options{}))
	old := func(text string) obj {
		return obj{"role": "user", "messageId": newMessageID(), "parts": []any{obj{"type": "text", "kind": "text", "text": text}}}
	}
	said := func(t *testing.T, answer string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			no, missing := strings.CutPrefix(want, "!")
			if strings.Contains(answer, no) == missing {
				t.Errorf("%s in %s", want, answer)
			}
		}
	}

	t.Run("R-116 in 0.1 the client names the task, and a finished one goes on", func(t *testing.T) {
		for range 2 {
			said(t, rawly(t, w, "tasks/send", "", obj{"id": "mine", "message": old("echo x")}), `"id":"mine"`, `"state":"completed"`, `"sessionId"`, `!"kind"`)
		}
		said(t, rawly(t, w, "message/send", "", obj{"message": obj{"role": "user", "messageId": "n1", "taskId": "nobody", "parts": []any{obj{"kind": "text", "text": "echo x"}}}}), `"code":-32001`)
	})
	t.Run("R-116 in 0.1 an answer is a task", func(t *testing.T) {
		said(t, rawly(t, w, "tasks/send", "", obj{"id": "said", "message": old("message x")}), `"id":"said"`, `"state":"completed"`)
		said(t, rawly(t, w, "message/send", "", obj{"message": old("message x")}), `"kind":"message"`, `!"state"`)
		said(t, rawly(t, w, "SendMessage", "1.0", obj{"message": say("message x")}), `"result":{"message":`)
	})
	t.Run("R-116 no history is all of it, but in 0.1", func(t *testing.T) {
		id := text(w.ok(t, "SendMessage", obj{"message": say("echo x")}), "task.id")
		said(t, rawly(t, w, "tasks/get", "0.1", obj{"id": id}), `!"history"`, `!"kind"`)
		said(t, rawly(t, w, "tasks/get", "0.3", obj{"id": id}), `"history"`, `"kind":"task"`)
		said(t, rawly(t, w, "GetTask", "1.0", obj{"id": id}), `"history"`, `!"kind"`)
	})
	t.Run("R-116 who subscribes to a finished task is told so before 1.0", func(t *testing.T) {
		id := text(w.ok(t, "SendMessage", obj{"message": say("echo x")}), "task.id")
		said(t, rawly(t, w, "tasks/resubscribe", "0.1", obj{"id": id}), `"final":true`, `!"kind"`)
		said(t, rawly(t, w, "tasks/resubscribe", "0.3", obj{"id": id}), `"kind":"task"`, `"kind":"status-update"`, `"final":true`)
		said(t, rawly(t, w, "SubscribeToTask", "1.0", obj{"id": id}), `"code":-32004`)
	})
	t.Run("R-116 generations are the draft's", func(t *testing.T) {
		id := text(w.ok(t, "SendMessage", obj{"message": say("echo x")}), "task.id")
		for version, want := range map[string]string{"1.1": `"generation":`, "1.0": `!"generation":`, "": `!"generation":`} {
			said(t, rawly(t, w, "GetTask", version, obj{"id": id}), want)
		}
	})
	t.Run("R-119 the client takes the version from the card, and the best of several", func(t *testing.T) {
		for offer, want := range map[string]string{
			"1.0": "1.0", "1.1": "1.1", "0.3": "0.3", "0.2.6": "0.2", "0.1": "0.1", "": "1.0", // which has interfaces
			"0.1 0.3": "0.3", "0.3 9.0": "0.3", "1.1 0.1 1.0.1": "1.0", "0.1 0.2 1.1": "1.1",
		} {
			card := &a2a.AgentCard{Name: "x"}
			for version := range strings.SplitSeq(offer, " ") {
				card.SupportedInterfaces = append(card.SupportedInterfaces, &a2a.AgentInterface{URL: w.url, ProtocolBinding: "JSONRPC", ProtocolVersion: version})
			}
			c, err := a2aclient.New(card, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
				MessageID: newMessageID(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo x")},
			}})
			if err != nil || res.Task == nil || res.Task.Status.State != a2a.TaskStateCompleted {
				t.Errorf("a card of %q: %+v, %v", offer, res, err)
			}
			equal(t, "version by a card of "+offer, c.Version(), want)
		}
	})
}
