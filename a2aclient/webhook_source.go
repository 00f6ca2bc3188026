package a2aclient

import (
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/webhook"
)

// readSource fills the Source of webhooks in an answer from its header, where
// every version and binding has room for it.
func readSource(h http.Header, answer any) {
	source := h.Get(webhook.SourceHeader)
	if !webhook.ValidSource(source) {
		return
	}
	switch r := answer.(type) {
	case *a2a.TaskPushNotificationConfig:
		r.Source = source
	case *a2a.ListTaskPushNotificationConfigsResponse:
		for _, c := range r.Configs {
			if c != nil {
				c.Source = source
			}
		}
	}
}
