package a2aclient

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Options adjusts a client. A nil *Options means all defaults.
type Options struct {
	// HTTPClient performs all requests. Its Timeout must be 0, or streams are
	// cut. Nil means a client of our own: 10 s to connect, 30 s for a TLS
	// handshake, no redirect to another host with credentials.
	HTTPClient *http.Client
	// Bindings are the caller's preferred bindings, best first, such as
	// a2a.BindingHTTPJSON. Empty means the card's order.
	Bindings []string
	// Version forces a protocol version, such as "1.0". Empty negotiates.
	Version string
	// Bearer and APIKey are credentials; they go where the card's security
	// schemes say (a bearer token into Authorization where it says nothing).
	Bearer string
	APIKey string
	// Header is sent with every request: service parameters (§3.2.6).
	Header http.Header
	// Extensions are the URIs of extensions the caller supports.
	Extensions []string
	// UnaryTimeout bounds a whole non-streaming call apart from SendMessage,
	// which waits for the agent. Zero means 60 s.
	UnaryTimeout time.Duration
	// Retries is how often in a row a stream that was cut is resumed before
	// giving up. Zero means 10; negative means never.
	Retries int
	// Logger gets one debug record per request. Nil discards.
	Logger *slog.Logger
}

// Client is an a2a.Service over a network. It is safe for concurrent use.
type Client struct {
	a2a.Unimplemented // until the operations are here

	card *a2a.AgentCard
	opts *Options
}
