package receiver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/webhook"
)

// A receiver prints what it cannot take, too, and nothing that could pass for
// another line.
func TestReceiverPrintsOneLineForEach(t *testing.T) {
	v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Unsigned: true, Task: func(_ context.Context, id string) bool { return id != "theirs" }})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := New(v, Options{Out: &out, Status: http.StatusTeapot, Fail: 1, Count: 2})
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
		"refused 404: the task is not one of ours",
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

// A delivery whose sender left before it was printed is new when it comes again.
func TestReceiverCountsWhatASenderLeftAndSentAgain(t *testing.T) {
	v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := New(v, Options{Out: &out, Count: 1})
	const body = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, ctx := range []context.Context{left, t.Context()} {
		req := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(body))
		(*webhook.Keys)(nil).Sign(req.Header, "d-1", time.Now(), []byte(body), "secret")
		r.ServeHTTP(httptest.NewRecorder(), req)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "duplicate") || len(r.done) != 1 {
		t.Errorf("printed %q, ended %v", got, len(r.done) == 1)
	}
}
