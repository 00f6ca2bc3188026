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

// hooks take what the agent posts. A post is a hint that there is something new:
// what it says is not looked at, the agent is asked. So whoever knows the address of
// a task can have the agent asked once more, and nothing else.
type hooks struct {
	base   *url.URL
	secret a2a.Secret

	mu      sync.Mutex // protects waiting
	waiting map[string]chan struct{}
}

func newHooks(base *url.URL, secret a2a.Secret) *hooks {
	return &hooks{base: base, secret: secret, waiting: map[string]chan struct{}{}}
}

// mac makes what nobody can guess for an id.
func (h *hooks) mac(what, id string) string {
	m := hmac.New(sha256.New, []byte(h.secret.Reveal()))
	m.Write([]byte("parley proxy " + what + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// config returns the webhook of a run: the same after a restart.
func (h *hooks) config(id string) *a2a.TaskPushNotificationConfig {
	return &a2a.TaskPushNotificationConfig{
		ID: id, URL: h.base.JoinPath(id, h.mac("address", id)).String(), Token: a2a.Secret(h.mac("token", id)),
	}
}

// join returns where a run hears of posts, until it leaves.
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

// maxPost is how much of a post is read, so that its connection can be used again.
const maxPost = 1 << 20

// ServeHTTP answers 204 to a post to the address of a task, also if nobody waits
// for it: it may come when its time has come.
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
	wake.Nudge(hint) // nil: nobody waits
	w.WriteHeader(http.StatusNoContent)
}
