package a2aserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/webhook"
)

// WebhookKeys are what a server signs its webhooks with. They do not change: a
// rotation makes new ones.
type WebhookKeys = webhook.Keys

// NewWebhookKeys makes keys for a server that has none.
func NewWebhookKeys() (*WebhookKeys, error) { return webhook.GenerateKeys(time.Now()) }

// ParseWebhookKeys reads what their Marshal wrote. The error has nothing of the
// keys in it.
func ParseWebhookKeys(doc []byte) (*WebhookKeys, error) { return webhook.ParseKeys(doc) }

// SetKeys says what is signed with from now on. Before the first call nothing
// is, but with the tokens of configurations.
func (w *Webhooks) SetKeys(k *WebhookKeys) { w.keys.Store(k) }

// LoadKeys makes load find the keys when they are needed first. Call it before
// anything is sent. If it fails nothing is sent, and it is called again.
func (w *Webhooks) LoadKeys(load func(context.Context) (*WebhookKeys, error)) { w.load = load }

// current returns the keys, or nil if there are none.
func (w *Webhooks) current(ctx context.Context) (*WebhookKeys, error) {
	if k := w.keys.Load(); k != nil || w.load == nil {
		return k, nil
	}
	w.loading.Lock()
	defer w.loading.Unlock()
	if k := w.keys.Load(); k != nil {
		return k, nil
	}
	k, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	w.keys.Store(k)
	return k, nil
}

// JWKS returns the public keys as a JSON Web Key Set, for
// /.well-known/jwks.json; nil if there are none. w may be nil.
func (w *Webhooks) JWKS(ctx context.Context) ([]byte, error) {
	if w == nil {
		return nil, nil
	}
	k, err := w.current(ctx)
	if k == nil || err != nil {
		return nil, err
	}
	return k.JWKS(), nil
}

const keysPath = "/.well-known/jwks.json"

// serveKeys answers with the keys that receivers verify webhooks with.
func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) {
	if !s.onlyGet(w, r, "GET, HEAD") {
		return
	}
	doc, err := s.opts.keys(r.Context())
	switch {
	case err != nil:
		s.log.Error("the keys of webhooks could not be read", "error", err)
		writeText(w, http.StatusServiceUnavailable, "the keys cannot be read at the moment; try again shortly\n")
		return
	case doc == nil:
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	sum := sha256.Sum256(doc)
	h.Set("Content-Type", "application/jwk-set+json")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	// A receiver asks anew for a key that it does not know: then a cache between
	// us must not answer with what it had before a rotation.
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(doc))
}
