package conformance

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
)

// hook is a receiver of webhooks that verifies them.
type hook struct {
	url string
	got chan *a2aclient.WebhookDelivery
}

const (
	hookToken  = "the token of the hook"
	hookSecret = "s3cret"
)

func newHook(t *testing.T, agent string) *hook {
	t.Helper()
	v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Keys: agent + "/.well-known/jwks.json", Token: hookToken})
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{got: make(chan *a2aclient.WebhookDelivery, 100)}
	take := v.Handler(func(_ context.Context, d *a2aclient.WebhookDelivery) error {
		h.got <- d
		return nil
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+hookSecret {
			t.Errorf("Authorization is %q", got)
		}
		take.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	h.url = s.URL + "/hook?a=b"
	return h
}

func (h *hook) config(taskID, id string) *a2a.TaskPushNotificationConfig {
	return &a2a.TaskPushNotificationConfig{
		TaskID: taskID, ID: id, URL: h.url, Token: hookToken,
		Authentication: &a2a.AuthenticationInfo{Scheme: "bearer", Credentials: hookSecret},
	}
}

// completes waits until the receiver knows that the task is completed, with
// what its version has: events, or the task as of each.
func (h *hook) completes(t *testing.T, p *caller, taskID string) {
	t.Helper()
	late := time.After(patience)
	known := new(a2a.Task)
	for known.Status.State != a2a.TaskStateCompleted {
		select {
		case d := <-h.got:
			old := p.dialect < dialect.V10
			if d.TaskID != taskID || !d.ByKey || !d.ByToken || d.Duplicate || (d.Task != nil) != old {
				t.Fatalf("delivered: %+v", d)
			}
			if d.Task != nil {
				known = d.Task
			} else {
				known.ApplyEvent(d.Event)
			}
		case <-late:
			t.Fatalf("the receiver knows of %s", known.AppendJSON(nil))
		}
	}
	if got := artifactText(known, "answer"); got != "me" {
		t.Errorf("the receiver knows the answer %q", got)
	}
}

// wantShown checks what the agent says of a configuration.
func wantShown(t *testing.T, got, want *a2a.TaskPushNotificationConfig) {
	t.Helper()
	if got.TaskID != want.TaskID || got.ID != want.ID || got.URL != want.URL || got.Authentication == nil || got.Authentication.Credentials != "" {
		t.Errorf("the configuration is %s", got.AppendJSON(nil))
	}
}

func matrixPush(t *testing.T, p *caller) {
	h := newHook(t, p.url)
	asked := p.task(t, "ask who?")
	want := h.config(asked.ID, "mine")
	if p.old() {
		want.ID = asked.ID // there are no ids
	}
	made, err := p.CreateTaskPushNotificationConfig(t.Context(), h.config(asked.ID, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, made, want)
	get := &a2a.GetTaskPushNotificationConfigRequest{TaskID: asked.ID, ID: made.ID}
	got, err := p.GetTaskPushNotificationConfig(t.Context(), get)
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, got, want)
	p.deliver(t, followUp(asked, "me"))
	h.completes(t, p, asked.ID)

	page, err := p.ListTaskPushNotificationConfigs(t.Context(), &a2a.ListTaskPushNotificationConfigsRequest{TaskID: asked.ID})
	gone := p.DeleteTaskPushNotificationConfig(t.Context(), &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: asked.ID, ID: made.ID})
	if p.old() {
		wantCode(t, err, a2a.CodeUnsupportedOperation)
		wantCode(t, gone, a2a.CodeUnsupportedOperation)
		return
	}
	if err != nil || gone != nil {
		t.Fatal(err, gone)
	}
	if len(page.Configs) != 1 {
		t.Fatalf("%d configurations", len(page.Configs))
	}
	wantShown(t, page.Configs[0], want)
	_, err = p.GetTaskPushNotificationConfig(t.Context(), get)
	wantCode(t, err, a2a.CodeTaskNotFound)
	if err := p.DeleteTaskPushNotificationConfig(t.Context(), &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: asked.ID, ID: made.ID}); err != nil {
		t.Errorf("deleted again: %v", err)
	}
}

func matrixPushAlong(t *testing.T, p *caller) {
	h := newHook(t, p.url)
	req := p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("ask who?")}})
	req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: h.config("", "")}
	res, err := p.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	p.deliver(t, followUp(res.Task, "me"))
	h.completes(t, p, res.Task.ID)
}

func matrixNoPush(t *testing.T, p *caller) {
	p = p.quiet()
	task := p.task(t, "echo x")
	_, err := p.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, URL: "https://example.com/hook"})
	wantCode(t, err, a2a.CodePushNotificationNotSupported)
}
