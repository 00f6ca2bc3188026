package conformance

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
)

// TestWebhooksOfOlderVersions: who asked for a webhook in a version is posted
// what that version has, whatever version the task came in.
func TestWebhooksOfOlderVersions(t *testing.T) {
	t.Parallel()
	ag := newHeld()
	url := start(t, agent.DemoCard(), ag, &parley.Options{Egress: &a2aserver.Egress{Loopback: true}})
	w := dial(t, jsonrpc, url)
	x := explore(t, dialGRPC(t, hostOf(url)).conn)

	call := func(t *testing.T, method string, params obj) any {
		t.Helper()
		answer := decode(t, []byte(rawly(t, w, method, "", params)))
		if has(answer, "error") {
			t.Fatalf("%s: %s", method, compact(answer))
		}
		return in(answer, "result")
	}
	// last is the post that says the task is over; each has the whole of it.
	last := func(t *testing.T, m *mailbox, id string) posted {
		t.Helper()
		for {
			p := receive(t, m.posts, "a webhook")
			p.body = decode(t, p.raw)
			equal(t, "the task", text(p.body, "id"), id)
			equal(t, "the type", p.header.Get("Content-Type"), "application/json")
			equal(t, "the token", p.header.Get("X-A2A-Notification-Token"), "tok")
			if text(p.body, "status.state") == "completed" {
				return p
			}
		}
	}
	t.Run("0.1", func(t *testing.T) {
		m := newMailbox(t, nil)
		id := ag.hold(t, w)
		config := obj{"url": m.url, "token": "tok", "authentication": obj{"schemes": []any{"jwt"}}}
		for range 2 { // the second takes the place of the first
			equal(t, "what is set", in(call(t, "tasks/pushNotification/set", obj{"id": id, "pushNotificationConfig": config}), "id"), id)
		}
		got := call(t, "tasks/pushNotification/get", obj{"id": id})
		equal(t, "what is got", in(got, "pushNotificationConfig.url"), m.url)
		equal(t, "its schemes", in(got, "pushNotificationConfig.authentication.schemes"), []string{"jwt"})
		equal(t, "how many there are", len(list(w.ok(t, "ListTaskPushNotificationConfigs", obj{"taskId": id}), "configs")), 1)
		ag.release <- struct{}{}
		p := last(t, m, id)
		if has(p.body, "kind") || text(p.body, "artifacts.0.parts.0.type") != "text" {
			t.Errorf("not a task of 0.1: %s", p.raw)
		}
		if a := p.header.Get("Authorization"); strings.Count(a, ".") != 2 || !strings.HasPrefix(a, "Bearer ey") {
			t.Errorf("not a JWT: %q", a)
		}
	})
	t.Run("0.1 with a message", func(t *testing.T) {
		m := newMailbox(t, nil)
		sent := make(chan string, 1)
		go func() {
			sent <- rawly(t, w, "tasks/send", "", obj{
				"id": "mine", "message": obj{"role": "user", "parts": []any{obj{"type": "text", "text": "x"}}},
				"pushNotification": obj{"url": m.url, "token": "tok"},
			})
		}()
		receive(t, ag.started, "the agent")
		// The agent begins before its task is there for others.
		for tries := 0; tries < 1000 && strings.Contains(rawly(t, w, "tasks/get", "", obj{"id": "mine"}), `"code":-32001`); tries++ {
		}
		equal(t, "what is got", in(call(t, "tasks/pushNotification/get", obj{"id": "mine"}), "pushNotificationConfig.url"), m.url)
		ag.release <- struct{}{}
		last(t, m, "mine")
		receive(t, sent, "the answer")
	})
	t.Run("0.1 without one", func(t *testing.T) {
		id := text(w.ok(t, "ListTasks", obj{"pageSize": 2}), "tasks.1.id") // that of the first test has one
		if id == "mine" {
			t.Fatal("the tasks are in another order")
		}
		w.ok(t, "DeleteTaskPushNotificationConfig", obj{"taskId": id, "id": id})
		if answer := rawly(t, w, "tasks/pushNotification/get", "", obj{"id": id}); !strings.Contains(answer, `"code":-32001`) {
			t.Error(answer)
		}
	})
	t.Run("0.3", func(t *testing.T) {
		m := newMailbox(t, nil)
		id := ag.hold(t, w)
		for _, config := range []obj{
			{"url": m.url, "token": "tok", "authentication": obj{"schemes": []any{"Bearer", "Basic"}, "credentials": "s3cret"}},
			{"id": "#2", "url": "https://client.example.com/hook"}, // sorts before any task
		} {
			call(t, "tasks/pushNotificationConfig/set", obj{"taskId": id, "pushNotificationConfig": config})
		}
		first := call(t, "tasks/pushNotificationConfig/get", obj{"id": id, "pushNotificationConfigId": id})
		equal(t, "the one without an id", in(first, "pushNotificationConfig.url"), m.url)
		equal(t, "the one without an id, of two", call(t, "tasks/pushNotificationConfig/get", obj{"id": id}), first)
		all, _ := call(t, "tasks/pushNotificationConfig/list", obj{"id": id}).([]any)
		equal(t, "how many there are", len(all), 2)
		if strings.Contains(compact(all), "s3cret") {
			t.Errorf("the credentials are shown: %s", compact(all))
		}
		for range 2 {
			equal(t, "a delete", call(t, "tasks/pushNotificationConfig/delete", obj{"id": id, "pushNotificationConfigId": "#2"}), nil)
		}
		equal(t, "the only one", text(call(t, "tasks/pushNotificationConfig/get", obj{"id": id}), "taskId"), id)
		ag.release <- struct{}{}
		p := last(t, m, id)
		if text(p.body, "kind") != "task" || text(p.body, "artifacts.0.parts.0.kind") != "text" || len(list(p.body, "history")) == 0 {
			t.Errorf("not a task of 0.3: %s", p.raw)
		}
		equal(t, "the credentials", p.header.Get("Authorization"), "Bearer s3cret")
	})
	t.Run("0.3 over gRPC", func(t *testing.T) {
		m := newMailbox(t, nil)
		id := ag.hold(t, w)
		name := "tasks/" + id + "/pushNotificationConfigs/p1"
		made := x.one(oldService, "CreateTaskPushNotificationConfig", obj{"parent": "tasks/" + id, "configId": "p1", "config": obj{
			"name": name, "pushNotificationConfig": obj{"id": "p1", "url": m.url, "token": "tok", "authentication": obj{"schemes": []any{"ApiKey"}, "credentials": "k"}},
		}})
		equal(t, "the name", text(made, "name"), name)
		equal(t, "what is got", x.one(oldService, "GetTaskPushNotificationConfig", obj{"name": name}), made)
		equal(t, "the list", in(x.one(oldService, "ListTaskPushNotificationConfig", obj{"parent": "tasks/" + id}), "configs"), []any{made})
		ag.release <- struct{}{}
		p := last(t, m, id)
		equal(t, "the kind", text(p.body, "kind"), "task") // webhooks are JSON, whatever binding
		equal(t, "the key", p.header.Get("X-Api-Key"), "k")
		for range 2 {
			x.one(oldService, "DeleteTaskPushNotificationConfig", obj{"name": name})
		}
		equal(t, "the reason", x.refused(oldService, "GetTaskPushNotificationConfig", obj{"name": name}).reason(), "TASK_NOT_FOUND")
	})
}
