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
	t.Run("R-116 an error names the member that the version has", func(t *testing.T) {
		hook := obj{"url": "https://hooks.example.org/", "token": "a\n"}
		scheme := obj{"url": "https://hooks.example.org/", "authentication": obj{"schemes": []any{"a b"}}}
		for _, tc := range []struct {
			method string
			params obj
			field  string
		}{
			{"tasks/send", obj{"id": "a\n", "message": old("echo x")}, "id"},
			{"tasks/sendSubscribe", obj{"id": "a", "sessionId": "b\n", "message": old("echo x")}, "sessionId"},
			{"tasks/send", obj{"id": "a", "message": old("echo x"), "pushNotification": hook}, "pushNotification.token"},
			{"tasks/send", obj{"id": "a", "message": old("echo x"), "acceptedOutputModes": []any{strings.Repeat("x", 600)}}, "acceptedOutputModes[0]"},
			{"tasks/pushNotification/set", obj{"id": "a\n", "pushNotificationConfig": scheme}, "id"},
			{"tasks/pushNotification/set", obj{"id": "mine", "pushNotificationConfig": scheme}, "pushNotificationConfig.authentication.schemes[0]"},
			{"message/send", obj{"message": old("echo x"), "configuration": obj{"pushNotificationConfig": hook}}, "configuration.pushNotificationConfig.token"},
			{"tasks/pushNotificationConfig/set", obj{"pushNotificationConfig": obj{"url": "https://hooks.example.org/"}}, "taskId"},
			{"tasks/pushNotificationConfig/set", obj{"taskId": "mine", "pushNotificationConfig": hook}, "pushNotificationConfig.token"},
			{"tasks/pushNotificationConfig/get", obj{"id": "a", "pushNotificationConfigId": "b\n"}, "pushNotificationConfigId"},
			{"tasks/pushNotificationConfig/list", obj{}, "id"},
		} {
			said(t, rawly(t, w, tc.method, "", tc.params), `"code":-32602,"message":"`+tc.field+": ")
		}
		resp, err := w.client.Post(w.url+"/v1/message:send", "application/json", strings.NewReader(compact(obj{"message": old("echo x"), "configuration": obj{"pushNotification": hook}})))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		rest, _ := io.ReadAll(resp.Body)
		said(t, string(rest), `"field":"configuration.pushNotification.token"`)
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
	t.Run("R-116 a canceled task is canceled again in 1.0 only", func(t *testing.T) {
		id := text(w.ok(t, "SendMessage", obj{"message": say("ask"), "configuration": obj{"returnImmediately": true}}), "task.id")
		said(t, rawly(t, w, "tasks/cancel", "0.3", obj{"id": id}), `"state":"canceled"`)
		for _, version := range []string{"", "0.3"} {
			said(t, rawly(t, w, "tasks/cancel", version, obj{"id": id}), `"code":-32002`, `"message":"the task is finished`)
		}
		said(t, rawly(t, w, "CancelTask", "1.0", obj{"id": id}), `TASK_STATE_CANCELED`)
	})
	t.Run("R-116 a negative historyLength is refused in 0.3 as in 1.0", func(t *testing.T) {
		id := text(w.ok(t, "SendMessage", obj{"message": say("echo x")}), "task.id")
		for _, version := range []string{"", "0.3"} {
			said(t, rawly(t, w, "tasks/get", version, obj{"id": id, "historyLength": -1}), `"code":-32602`, `historyLength`)
			said(t, rawly(t, w, "message/send", version, obj{"message": old("echo x"), "configuration": obj{"historyLength": -1}}), `"code":-32602`, `configuration.historyLength`)
		}
		said(t, rawly(t, w, "GetTask", "1.0", obj{"id": id, "historyLength": -1}), `"code":-32602`, `historyLength`)
	})
	t.Run("R-116 a part of an unknown kind is refused in 0.3", func(t *testing.T) {
		strange := old("x")
		strange["parts"] = []any{obj{"kind": "text", "text": "x"}, obj{"kind": "hologram", "text": "x"}}
		said(t, rawly(t, w, "message/send", "", obj{"message": strange}), `"code":-32602`, `message.parts[1].kind`)
		strange["parts"] = []any{obj{"type": "hologram", "text": "x"}}
		said(t, rawly(t, w, "message/send", "", obj{"message": strange}), `"code":-32602`, `message.parts[0].type`)
	})
	t.Run("R-116 a request of 0.3 without an id is judged by its method and params first", func(t *testing.T) {
		for body, code := range map[string]string{
			`{"jsonrpc":"2.0","method":"message/sent","params":{}}`:                                `"code":-32601`,
			`{"jsonrpc":"2.0","method":"message/send","params":{"message":5}}`:                     `"code":-32602`,
			`{"jsonrpc":"2.0","method":"message/send","params":{"":"not_a_dict"}}`:                 `"code":-32602`,
			`{"jsonrpc":"2.0","method":"tasks/pushNotificationConfig/delete","params":{"id":"t"}}`: `"code":-32602`,
			`{"jsonrpc":"2.0","method":"tasks/pushNotificationConfig/list","params":{"id":"t"}}`:   `"code":-32600`,
			`{"jsonrpc":"1.0","method":"message/sent"}`:                                            `"code":-32600`,
			`{"jsonrpc":"2.0","id":{},"method":"message/sent"}`:                                    `"code":-32600`,
			`{"jsonrpc":"2.0","method":"ListTasks","params":{"pageSize":"many"}}`:                  `"code":-32600`,
		} {
			resp, err := w.client.Post(w.url, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			said(t, string(answer), `"id":null`, code)
		}
	})
	t.Run("R-116 an unknown method of 0.3 is answered with the names of 0.3", func(t *testing.T) {
		for _, version := range []string{"", "0.3"} {
			said(t, rawly(t, w, "tasks/forget", version, obj{}), `"code":-32601`, `A2A 0.3 has message/send`, `!SendMessage`)
		}
		said(t, rawly(t, w, "ForgetTask", "1.0", obj{}), `"code":-32601`, `A2A 1.0 has SendMessage`)
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
