package a2aserver

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// RetryExtension is what a card says in Capabilities.Extensions for a server
// to offer the retry extension (docs/extensions/retry-v1.md): clients then send
// a message again that got no answer. The service has to know, for at least the
// window, a message by its id and by SendMessageRequest.IdempotencyKey, of
// authenticated callers or, if anonymous says so, of all. The card has whole
// seconds; a window below one promises nothing.
func RetryExtension(window time.Duration, anonymous bool) *a2a.AgentExtension {
	return dialect.RetryExtension(dialect.Retry{Window: window, Anonymous: anonymous})
}

// takeKey puts the key of a message that is sent into its request. Other
// requests need none, and are not asked whether theirs makes sense.
func takeKey(h http.Header, req any) error {
	r, ok := req.(*a2a.SendMessageRequest)
	if !ok {
		return nil
	}
	var err error
	r.IdempotencyKey, err = dialect.ReadKey(h[dialect.KeyHeader])
	return err
}
