package conformance

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// TestConformanceKits checks what conformance kits rely on beyond the letter of
// the specification.
func TestConformanceKits(t *testing.T) {
	eachKit(t, func(t *testing.T, w *wire) {
		if w.binding == grpcBinding {
			return // they are about HTTP
		}
		t.Run("message ids are used again, nothing is taken for a repetition", func(t *testing.T) {
			t.Parallel()
			const id = "tck-input-required" // for the whole session
			use := func(words string, more ...any) obj { return say(words, append([]any{"messageId", id}, more...)...) }
			first, second := w.send(t, use("one")), w.send(t, use("one"))
			if text(first, "id") == text(second, "id") {
				t.Error("two messages made one task")
			}
			w.send(t, use("two", "taskId", in(first, "id")))
			w.send(t, use("two", "taskId", in(first, "id")))
			w.open(t, "SendStreamingMessage", obj{"message": use("three", "taskId", in(first, "id"))}).all()
			var said []string
			for i, m := range list(w.get(t, text(first, "id")), "history") {
				if i%2 == 0 {
					equal(t, "messageId", in(m, "messageId"), id)
					said = append(said, text(m, "parts.0.text"))
				} else {
					equal(t, "role", in(m, "role"), "ROLE_AGENT")
				}
			}
			equal(t, "messages of the client in the history", said, []string{"one", "two", "two", "three"})
		})
		t.Run("an idle task that waits can be subscribed to, by two", func(t *testing.T) {
			t.Parallel()
			id := text(w.send(t, bid("tck-input-required")), "id")
			one := w.open(t, "SubscribeToTask", obj{"id": id})
			two := w.open(t, "SubscribeToTask", obj{"id": id})
			first, other := one.must(), two.must()
			equal(t, "kind", first.kind, "task")
			equal(t, "the first snapshots", first.raw, other.raw)
			equal(t, "their ids", first.id, other.id)
			equal(t, "the task", first.body, w.get(t, id))
			w.send(t, bid("tck-input-required", "taskId", id)) // open across another question
			equal(t, "first events", spell(t, []event{one.must(), one.must()}), "WORKING "+kitQuestion)
			w.send(t, bid("tck-complete-task", "taskId", id))
			equal(t, "the rest of one", spell(t, one.all()), `WORKING `+conformanceEvents["tck-complete-task"])
			equal(t, "all of the other", spell(t, two.all()), "WORKING "+kitQuestion+" WORKING "+conformanceEvents["tck-complete-task"])
		})
		t.Run("cancelling works on a task that waits and on one that works", func(t *testing.T) {
			t.Parallel()
			for _, prefix := range []string{"tck-input-required", "test-resubscribe-message-id"} {
				id := text(w.begin(t, bid(prefix)), "id")
				s := w.open(t, "SubscribeToTask", obj{"id": id})
				task := w.ok(t, "CancelTask", obj{"id": id})
				equal(t, "state", in(task, "status.state"), "TASK_STATE_CANCELED")
				events := s.all()
				equal(t, "last event", spell(t, events[len(events)-1:]), "CANCELED")
				w.refused(t, "UNSUPPORTED_OPERATION", "SendMessage", obj{"message": bid("tck-complete-task", "taskId", id)})
			}
		})
		t.Run("errors that precede a stream are plain answers", func(t *testing.T) {
			t.Parallel()
			done := in(w.send(t, bid("tck-complete-task")), "id")
			w.refused(t, invalid, "SendStreamingMessage", obj{})
			w.refused(t, invalid, "SendStreamingMessage", obj{"message": obj{"messageId": "tck-stream-001", "role": "ROLE_USER", "parts": []any{}}})
			w.refused(t, "TASK_NOT_FOUND", "SendStreamingMessage", obj{"message": bid("tck-stream-001", "taskId", "nobody-knows")})
			w.refused(t, "UNSUPPORTED_OPERATION", "SendStreamingMessage", obj{"message": bid("tck-stream-001", "taskId", done)})
			w.refused(t, "TASK_NOT_FOUND", "SubscribeToTask", obj{"id": "nobody-knows"})
			w.refused(t, "UNSUPPORTED_OPERATION", "SubscribeToTask", obj{"id": done})
			w.refused(t, "VERSION_NOT_SUPPORTED", "SendStreamingMessage", obj{"message": bid("tck-stream-001")}, "A2A-Version", "99.0")
		})
		t.Run("no key that version 1.0 does not have, no null", func(t *testing.T) {
			t.Parallel()
			context := text(w.send(t, bid("tck-input-required")), "contextId")
			for prefix := range conformanceEvents {
				w.known(t, "SendMessageResponse", w.ok(t, "SendMessage", obj{"message": bid(prefix, "contextId", context)}))
				for _, e := range w.open(t, "SendStreamingMessage", obj{"message": bid(prefix, "contextId", context)}).all() {
					w.known(t, "StreamResponse", obj{e.kind: e.body})
				}
			}
			w.known(t, "SendMessageResponse", w.ok(t, "SendMessage", obj{"message": bid("tck-message-response")}))
			for _, artifacts := range []bool{true, false} {
				page := w.ok(t, "ListTasks", obj{"contextId": context, "includeArtifacts": artifacts})
				if len(list(page, "tasks")) < len(conformanceEvents) {
					t.Errorf("%d tasks", len(list(page, "tasks")))
				}
				w.known(t, "ListTasksResponse", page)
			}
			empty := w.ok(t, "ListTasks", obj{"contextId": "nobody-knows"})
			w.known(t, "ListTasksResponse", empty)
			equal(t, "tasks of an empty list", in(empty, "tasks"), []any{})
			w.known(t, "Task", w.ok(t, "CancelTask", obj{"id": in(w.send(t, bid("tck-input-required")), "id")}))
			w.known(t, "AgentCard", w.fetch(t, cardPath).result)
			w.known(t, "AgentCard", w.fetch(t, cardPath, "A2A-Version", "1.0").result)
		})
		t.Run("a wrong media type is 415 before the body is parsed", func(t *testing.T) {
			t.Parallel()
			op := routes["SendMessage"].path
			if w.binding == jsonrpc {
				op = ""
			}
			for media, status := range map[string]int{
				"text/plain": 415, "application/xml": 415, "application/x-www-form-urlencoded": 415, "nonsense": 415,
				"application/json": 0, "application/a2a+json": 0, "application/json; charset=utf-8": 0,
			} {
				req, err := http.NewRequestWithContext(t.Context(), "POST", w.url+op, strings.NewReader("{"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", media)
				a := w.do(t, req, nil)
				if (a.status == 415) != (status == 415) || a.fault == nil || w.binding == jsonrpc && (a.fault.code == "-32005") != (status == 415) {
					t.Errorf("%s: %d %s", media, a.status, a.body)
				}
			}
		})
		t.Run("parameters in snake_case", func(t *testing.T) {
			t.Parallel()
			asked := in(w.ok(t, "SendMessage", obj{
				"message":       obj{"message_id": "tck-input-required", "context_id": "snakes" + w.binding, "role": "ROLE_USER", "parts": []any{obj{"text": "x", "media_type": "text/plain"}}},
				"configuration": obj{"accepted_output_modes": []any{"text/plain"}, "history_length": 0, "return_immediately": false},
			}), "task")
			if has(asked, "history") || text(asked, "contextId") != "snakes"+w.binding {
				t.Errorf("%s", compact(asked))
			}
			id := in(asked, "id")
			same := in(w.ok(t, "SendMessage", obj{"message": obj{"message_id": "tck-artifact-text", "task_id": id, "role": "ROLE_USER",
				"reference_task_ids": []any{}, "parts": []any{obj{"text": "x"}}}}), "task")
			equal(t, "task", in(same, "id"), id)
			equal(t, "history by get", len(list(w.ok(t, "GetTask", obj{"id": id, "history_length": 1}), "history")), 1)
			if w.binding == rest {
				return // of queries, the names are checked elsewhere
			}
			page := w.ok(t, "ListTasks", obj{"context_id": "snakes" + w.binding, "page_size": 1, "history_length": 1,
				"include_artifacts": true, "status_timestamp_after": "2000-01-01T00:00:00Z"})
			equal(t, "pageSize", in(page, "pageSize"), 1)
			equal(t, "history by list", len(list(page, "tasks.0.history")), 1)
			equal(t, "artifacts by list", len(list(page, "tasks.0.artifacts")), 1)
			config := w.ok(t, "CreateTaskPushNotificationConfig", obj{"task_id": id, "url": "https://example.com"})
			equal(t, "taskId of the config", in(config, "taskId"), id)
		})
	})
}

// TestConformanceKitsREST is what only HTTP+JSON has.
func TestConformanceKitsREST(t *testing.T) {
	t.Parallel()
	w := dial(t, rest, start(t, agent.ConformanceCard(), agent.Conformance(), nil))
	send := func(t *testing.T, verb, path, body string, headers ...string) *http.Response {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		t.Cleanup(cancel)
		req, err := http.NewRequestWithContext(ctx, verb, w.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	media := func(resp *http.Response) string {
		m, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		return m
	}

	t.Run("application/json, unless the client sent or accepts application/a2a+json", func(t *testing.T) {
		const plain, own = "application/json", "application/a2a+json"
		body := compact(obj{"message": bid("tck-complete-task")})
		for _, c := range []struct{ sent, accepts, want string }{
			{plain, "", plain}, {plain, "*/*", plain}, {plain, plain, plain}, {"", "", plain},
			{own, "", own}, {own, plain, own}, {plain, own, own}, {plain, own + ", " + plain, own},
		} {
			var headers []string
			if c.sent != "" {
				headers = append(headers, "Content-Type", c.sent)
			}
			if c.accepts != "" {
				headers = append(headers, "Accept", c.accepts)
			}
			resp := send(t, "POST", "/message:send", body, headers...)
			if resp.StatusCode != 200 || media(resp) != c.want {
				t.Errorf("sent %q, accepts %q: %d %s", c.sent, c.accepts, resp.StatusCode, media(resp))
			}
			bad := send(t, "POST", "/message:send", "{}", headers...)
			if bad.StatusCode != 400 || media(bad) != c.want {
				t.Errorf("an error for sent %q, accepts %q: %d %s", c.sent, c.accepts, bad.StatusCode, media(bad))
			}
		}
	})
	t.Run("bodies may be absent on cancel and subscribe", func(t *testing.T) {
		for _, headers := range [][]string{nil, {"Content-Type", "application/json"}, {"Content-Type", "application/a2a+json"}} {
			id := text(w.send(t, bid("tck-input-required")), "id")
			if resp := send(t, "POST", "/tasks/"+id+":subscribe", "", headers...); resp.StatusCode != 200 || media(resp) != "text/event-stream" {
				t.Errorf("subscribe with %v: %d %s", headers, resp.StatusCode, media(resp))
			}
			resp := send(t, "POST", "/tasks/"+id+":cancel", "", headers...)
			if a := w.read(t, resp, nil); a.status != 200 || text(a.result, "status.state") != "TASK_STATE_CANCELED" {
				t.Errorf("cancel with %v: %d %s", headers, a.status, a.body)
			}
		}
	})
}

// TestConformanceKitsURL looks at the agent's address in all its spellings.
func TestConformanceKitsURL(t *testing.T) {
	t.Parallel()
	s, err := parley.New(agent.ConformanceCard(), agent.Conformance(), nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	below := http.StripPrefix("/some/agent", s.Handler())
	mux.Handle("/some/agent", below)
	mux.Handle("/some/agent/", below)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for name, srv := range map[string]*httptest.Server{"": httptest.NewServer(s.Handler()), "/some/agent": httptest.NewServer(mux)} {
		t.Cleanup(srv.Close)
		for _, slash := range []string{"", "/"} {
			url := srv.URL + name + slash
			t.Run("without a redirect at "+name+slash, func(t *testing.T) {
				w := dial(t, jsonrpc, url)
				w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("redirected") }
				w.send(t, bid("tck-complete-task"))
				w.open(t, "SendStreamingMessage", obj{"message": bid("tck-stream-001")}).all()
				if name != "" && slash != "" {
					return // a ServeMux redirects double slashes before we see them
				}
				w = w.over(rest)
				w.send(t, bid("tck-complete-task"))
				w.open(t, "SendStreamingMessage", obj{"message": bid("tck-stream-001")}).all()
				for _, i := range list(w.fetch(t, cardPath).result, "supportedInterfaces") {
					equal(t, "url", in(i, "url"), srv.URL+name)
				}
			})
		}
	}
	t.Run("headers of the card", func(t *testing.T) {
		srv := httptest.NewServer(s.Handler())
		defer srv.Close()
		a := dial(t, rest, srv.URL).fetch(t, cardPath)
		for _, name := range []string{"Cache-Control", "ETag", "Last-Modified"} {
			if a.header.Get(name) == "" {
				t.Errorf("no %s", name)
			}
		}
		if c := a.header.Get("Cache-Control"); !strings.Contains(c, "max-age=") {
			t.Errorf("Cache-Control %q", c)
		}
		if _, err := http.ParseTime(a.header.Get("Last-Modified")); err != nil {
			t.Errorf("Last-Modified: %v", err)
		}
	})
	stop()
	if err := receive(t, ended, "Run's end"); err != nil {
		t.Error(err)
	}
}
