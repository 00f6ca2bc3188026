package a2aserver

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/webhook"
)

// Webhooks posts push notifications to their receivers (specification §4.3.3). It
// is an a2a.Notifier, and may be used concurrently; docs/webhooks.md describes what
// it sends.
type Webhooks = webhook.Sender

// NewWebhooks returns a sender that dials the addresses that policy allows; nil is
// https to public hosts only. name and version make its User-Agent.
func NewWebhooks(policy *Egress, name, version string) *Webhooks {
	return webhook.NewSender(policy, name, version)
}

// WebhookKeys are the keys that a server signs its webhooks with. They do not change: a
// rotation makes new keys.
type WebhookKeys = webhook.Keys

// NewWebhookKeys makes keys for a server that has none.
func NewWebhookKeys() (*WebhookKeys, error) { return webhook.GenerateKeys(time.Now()) }

// ParseWebhookKeys reads the output of WebhookKeys.Marshal. Its error reveals nothing
// of the keys.
func ParseWebhookKeys(doc []byte) (*WebhookKeys, error) { return webhook.ParseKeys(doc) }

// Egress says to which addresses a server may send on behalf of callers.
type Egress = egress.Policy

// EgressRule is an element of the Allow or Deny list of an Egress.
type EgressRule = egress.Rule

// ParseEgressRule reads a rule: a name such as hooks.example.com, all names
// below one (*.example.com), those and itself (.example.com), an address or a
// range (10.1.0.0/16), or all (*); each with a port after a colon or without. An
// http:// in front lets plain http through as well.
func ParseEgressRule(s string) (EgressRule, error) { return egress.ParseRule(s) }

// sourceIn returns the source of the webhooks in an answer, "" if it has none.
// Callers learn it from a header (webhook.SourceHeader): messages of the protocol
// have no field for it, and some clients refuse fields that they do not know.
func sourceIn(answer any) string {
	switch r := answer.(type) {
	case *a2a.TaskPushNotificationConfig:
		return r.Source
	case *a2a.ListTaskPushNotificationConfigsResponse:
		if len(r.Configs) > 0 {
			return r.Configs[0].Source // all are one caller's
		}
	}
	return ""
}

const keysPath = "/.well-known/jwks.json"

// serveKeys answers with the keys that receivers verify webhooks with.
func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) {
	if !s.only(w, r, readers) {
		return
	}
	doc, err := s.opts.keys(r.Context())
	if err != nil {
		if r.Context().Err() == nil { // otherwise the client has left
			s.log.Error("the keys of webhooks could not be read", "error", err)
		}
		writeText(w, http.StatusServiceUnavailable, "the keys cannot be read at the moment; try again shortly\n")
		return
	}
	serveKeySet(w, r, doc)
}
