package interop

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// pusher is what a client has that can ask for webhooks.
type pusher interface {
	CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error)
	GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error)
	ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) ([]*a2a.PushConfig, error)
	DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error
}

// webhook is a receiver that verifies what is posted as anybody would who knows
// Standard Webhooks.
type webhook struct {
	w      *world
	config *a2a.PushConfig
	keys   []ed25519.PublicKey
	posts  chan []byte
}

func newWebhook(w *world) *webhook {
	w.Helper()
	if w.agent == "" {
		w.Skip("not with this client")
	}
	h := &webhook{w: w, posts: make(chan []byte, 100)}
	s := httptest.NewServer(h)
	w.Cleanup(s.Close)
	h.config = &a2a.PushConfig{
		ID: "mine", URL: s.URL + "/hook", Token: "the token of the configuration",
		Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "s3cret"},
	}
	res, err := w.said.httpClient().Get(w.agent + "/.well-known/jwks.json")
	w.must(err)
	defer res.Body.Close()
	var set struct{ Keys []struct{ Crv, X string } }
	w.must(json.NewDecoder(res.Body).Decode(&set))
	for _, k := range set.Keys {
		if k.Crv == "Ed25519" {
			x, err := base64.RawURLEncoding.DecodeString(k.X)
			w.must(err)
			h.keys = append(h.keys, x)
		}
	}
	return h
}

func (h *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h.w.said.add(fmt.Sprintf("hook> %s %v %s", r.Method, r.Header, body))
	switch {
	case err != nil || r.Method != http.MethodPost:
		h.w.Errorf("%s, %v", r.Method, err)
	case r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("X-A2A-Notification-Token") != h.config.Token:
		h.w.Errorf("the credentials are not there: %v", r.Header)
	case !h.signed(r.Header, body):
		h.w.Error("not signed with a key of the agent")
	}
	h.posts <- body
}

func (h *webhook) signed(header http.Header, body []byte) bool {
	said := append([]byte(header.Get("Webhook-Id")+"."+header.Get("Webhook-Timestamp")+"."), body...)
	for s := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		in, ok := strings.CutPrefix(s, "v1a,")
		sig, err := base64.StdEncoding.DecodeString(in)
		for _, key := range h.keys {
			if ok && err == nil && ed25519.Verify(key, said, sig) {
				return true
			}
		}
	}
	return false
}

// completes waits for the end of a task: an event in 1.0, before the task.
func (h *webhook) completes(id a2a.TaskID) {
	h.w.Helper()
	want := `"TASK_STATE_COMPLETED"`
	if h.w.version < "1.0" {
		want = `"completed"`
	}
	for {
		select {
		case body := <-h.posts:
			if !bytes.Contains(body, []byte(id)) {
				h.w.Errorf("posted: %s", body)
			}
			if bytes.Contains(body, []byte(want)) {
				return
			}
		case <-h.w.ctx.Done():
			h.w.Fatal("the end of the task is not posted")
		}
	}
}

// checkWebhook is what an SDK's client does with a webhook.
func checkWebhook(w *world) {
	hook := newWebhook(w)
	asked := w.send("ask Which city?")
	hook.config.TaskID = asked.ID
	c := w.client.(pusher)
	made, err := c.CreateTaskPushConfig(w.ctx, hook.config)
	w.must(err)
	shown, err := c.GetTaskPushConfig(w.ctx, &a2a.GetTaskPushConfigRequest{TaskID: asked.ID, ID: made.ID})
	w.must(err)
	if shown.URL != hook.config.URL || shown.Auth == nil || shown.Auth.Credentials != "" {
		w.Errorf("it is shown as %+v", shown)
	}
	w.wantState(w.task(answer(asked, "Bremen")), a2a.TaskStateCompleted)
	hook.completes(asked.ID)
	all, err := c.ListTaskPushConfigs(w.ctx, &a2a.ListTaskPushConfigRequest{TaskID: asked.ID})
	w.must(err)
	if len(all) != 1 || all[0].ID != made.ID {
		w.Errorf("%d are listed", len(all))
	}
	w.must(c.DeleteTaskPushConfig(w.ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: asked.ID, ID: made.ID}))
	all, err = c.ListTaskPushConfigs(w.ctx, &a2a.ListTaskPushConfigRequest{TaskID: asked.ID})
	w.must(err)
	if len(all) != 0 {
		w.Error("it is listed after it was deleted")
	}
}

// checkWebhookAlong is a webhook that comes with a message.
func checkWebhookAlong(w *world) {
	hook := newWebhook(w)
	req := request("stream 3 10")
	req.Config = &a2a.SendMessageConfig{PushConfig: hook.config}
	hook.completes(w.task(req).ID)
}
