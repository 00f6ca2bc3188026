package a2aserver

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// RetryExtension returns the entry of a card's Capabilities.Extensions for a server
// that offers the retry extension (docs/extensions/retry-v1.md): clients then repeat a
// message that got no answer. For at least the window, the service has to recognize a
// message by its id and by SendMessageRequest.IdempotencyKey, from authenticated
// callers or, with anonymous, from all. The card has whole seconds; a window below one
// promises nothing.
func RetryExtension(window time.Duration, anonymous bool) *a2a.AgentExtension {
	return dialect.RetryExtension(dialect.Retry{Window: window, Anonymous: anonymous})
}

// takeKey puts the idempotency key of a message into its request. Other requests need
// none, and theirs is not checked.
func takeKey(h http.Header, req any) error {
	r, ok := req.(*a2a.SendMessageRequest)
	if !ok {
		return nil
	}
	var err error
	r.IdempotencyKey, err = dialect.ReadKey(h[dialect.KeyHeader])
	return err
}
