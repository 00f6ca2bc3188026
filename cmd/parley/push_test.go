package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/store"
)

func TestKeysAreBelowTheAgent(t *testing.T) {
	const path = "/.well-known/jwks.json"
	for agent, want := range map[string]string{
		"":                     "",
		"localhost:7275":       "http://localhost:7275" + path,
		"127.0.0.1:7275":       "http://127.0.0.1:7275" + path,
		"[::1]:7275":           "http://[::1]:7275" + path,
		"agents.example.org":   "https://agents.example.org" + path,
		"https://a.example/b/": "https://a.example/b" + path,
		"https://a.example/b/.well-known/agent-card.json": "https://a.example/b" + path,
		"https://u:p@a.example/?q#f":                      "https://a.example" + path,
		"./card.json":                                     "error",
		"card.json":                                       "error",
		"/etc/card":                                       "error",
		"file:///card.json":                               "error",
		"ftp://a.example":                                 "error",
	} {
		got, err := new(listenFlags).keysURL(agent)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", agent, got, want)
		}
	}
	if got, _ := (&listenFlags{keys: "https://k.example/k"}).keysURL("localhost"); got != "https://k.example/k" {
		t.Errorf("--keys: %s", got)
	}
}

func TestPushFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		flags pushFlags
		in    string
		want  string // of JSON; or a part of the error
	}{
		"none":             {},
		"url":              {flags: pushFlags{url: "u"}, want: `{"url":"u"}`},
		"all":              {flags: pushFlags{url: "u", id: "i", token: "t", scheme: "Basic", credentials: "c"}, want: `{"id":"i","url":"u","token":"t","authentication":{"scheme":"Basic","credentials":"c"}}`},
		"token read":       {flags: pushFlags{url: "u", token: "-"}, in: "a b\r\nc", want: `{"url":"u","token":"a b"}`},
		"credentials read": {flags: pushFlags{url: "u", scheme: "x", credentials: "-"}, in: "c", want: `{"url":"u","authentication":{"scheme":"x","credentials":"c"}}`},
		"nothing to read":  {flags: pushFlags{url: "u", token: "-"}, want: "no line"},
		"two to read":      {flags: pushFlags{url: "u", scheme: "x", token: "-", credentials: "-"}, want: "only one"},
		"no url":           {flags: pushFlags{prefix: "push-", id: "i"}, want: "--push-url is missing"},
		"no scheme":        {flags: pushFlags{url: "u", credentials: "c"}, want: "needs an --auth-scheme"},
	} {
		c, err := tt.flags.config(strings.NewReader(tt.in))
		switch {
		case err != nil:
			if tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		case c == nil:
			if tt.want != "" {
				t.Errorf("%s: nothing", name)
			}
		case string(c.AppendJSON(nil)) != tt.want:
			t.Errorf("%s: %s", name, c.AppendJSON(nil))
		}
	}
}

func TestWhatAWebhookDoes(t *testing.T) {
	at := func(live bool, cursor int64, tries int32) *store.PushState {
		p := &store.PushState{Last: 5}
		p.Live, p.Cursor, p.Tries = live, cursor, tries
		return p
	}
	for want, p := range map[string]*store.PushState{
		database.PushIdle: at(true, 5, 0), database.PushPending: at(true, 4, 0), database.PushRetrying: at(true, 4, 2), database.PushDisabled: at(false, 4, 0), database.PushCompleted: at(false, 5, 0),
	} {
		if got := database.PushDoes(p); got != want {
			t.Errorf("%+v is %s, want %s", p, got, want)
		}
	}
}

// A receiver prints what it cannot take, too, and nothing that could pass for
// another line.
func TestReceiverPrintsOneLineForEach(t *testing.T) {
	v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Unsigned: true, Task: func(_ context.Context, id string) bool { return id != "theirs" }})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := &receiver{flags: &listenFlags{status: http.StatusTeapot, fail: 1, count: 2}, verifier: v, out: &out, done: make(chan error, 1)}
	post := func(method, path, body string) int {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return w.Code
	}
	status := func(task, text string) string {
		e := &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: task, ContextID: "c", Status: a2a.TaskStatus{
			State: a2a.TaskStateWorking, Message: &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text)}},
		}}}
		return string(e.AppendJSON(nil))
	}
	for _, tt := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/?validationToken=x", "", 200},
		{"GET", "/", "", 405},
		{"POST", "/", "{", 400},
		{"POST", "/", status("theirs", "x"), 404},
		{"POST", "/", status("t", "first"), 418},
		{"POST", "/", status("t", "two\n2026 refused\x1b[31m"), 200},
		{"POST", "/", `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"` + strings.Repeat("é", 100) + `"}]}}`, 200},
		{"POST", "/", status("t", "late"), 503},
	} {
		if got := post(tt.method, tt.path, tt.body); got != tt.want {
			t.Errorf("%s %s %s: %d, want %d", tt.method, tt.path, tt.body, got, tt.want)
		}
	}
	select {
	case err := <-r.done:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("it does not end after two")
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	want := []string{
		"refused 400: the body is neither an event nor a task",
		"refused 404: the task is none of ours",
		"t status TASK_STATE_WORKING: first [unverified, answered 418]",
		"t status TASK_STATE_WORKING: two 2026 refused",
		"- message: " + strings.Repeat("é", 60) + "… [unverified]",
	}
	if len(lines) != len(want) {
		t.Fatalf("printed %q", lines)
	}
	for i, l := range lines {
		if _, rest, _ := strings.Cut(l, " "); !strings.HasPrefix(rest, want[i]) || strings.Contains(l, "\x1b") {
			t.Errorf("line %d is %q, want %q", i, l, want[i])
		}
	}
}
