package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/internal/webhook"
)

// hooks receive the agent's posts. A post is only a hint that something changed: its
// content is ignored, and the agent is asked. So a caller who knows a task's address
// can only cause one more request to the agent.
type hooks struct {
	base   *url.URL
	secret a2a.Secret

	mu      sync.Mutex // protects waiting
	waiting map[string]chan struct{}
}

func newHooks(base *url.URL, secret a2a.Secret) *hooks {
	return &hooks{base: base, secret: secret, waiting: map[string]chan struct{}{}}
}

// mac makes an unguessable string for an id.
func (h *hooks) mac(what, id string) string {
	m := hmac.New(sha256.New, []byte(h.secret.Reveal()))
	m.Write([]byte("parley proxy " + what + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// config returns the webhook of a run. It is the same after a restart.
func (h *hooks) config(id string) *a2a.TaskPushNotificationConfig {
	return &a2a.TaskPushNotificationConfig{
		ID: id, URL: h.base.JoinPath(id, h.mac("address", id)).String(), Token: a2a.Secret(h.mac("token", id)),
	}
}

// join returns the channel for hints to a run, until leave is called.
func (h *hooks) join(id string) (hint chan struct{}, leave func()) {
	hint = make(chan struct{}, 1)
	h.mu.Lock()
	h.waiting[id] = hint
	h.mu.Unlock()
	return hint, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.waiting[id] == hint {
			delete(h.waiting, id)
		}
	}
}

// maxPost is how much of a post is read, so that its connection can be reused.
const maxPost = 1 << 20

// ServeHTTP answers 204 to a post to the address of a task, even if no run waits for
// it: it may come too early or too late.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, proof, ok := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	if !ok || len(id) > 64 || !hmac.Equal([]byte(proof), []byte(h.mac("address", id))) {
		http.NotFound(w, r)
		return
	}
	switch {
	case webhook.Challenge(w, r):
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "webhooks are posted", http.StatusMethodNotAllowed)
		return
	}
	if token := r.Header.Get("X-A2A-Notification-Token"); token != "" && !hmac.Equal([]byte(token), []byte(h.mac("token", id))) {
		http.Error(w, "this is not the token of the webhook", http.StatusUnauthorized)
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxPost)
	h.mu.Lock()
	hint := h.waiting[id]
	h.mu.Unlock()
	wake.Nudge(hint) // nil: no run waits
	w.WriteHeader(http.StatusNoContent)
}
