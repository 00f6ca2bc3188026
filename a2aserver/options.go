package a2aserver

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Options adjusts a Server. A nil *Options means all defaults.
type Options struct {
	// MaxBody caps a request body, in bytes. Zero means 8 MiB.
	MaxBody int64
	// KeepAlive is how long a stream may be silent before a comment is sent.
	// Zero means 15 s.
	KeepAlive time.Duration
	// WriteTimeout bounds every single write to a client, of 32 KiB at most; a stream
	// as a whole has no limit. A client that falls behind 4 KiB/s by that much time is
	// cut off. Zero means 30 s.
	WriteTimeout time.Duration
	// StrictVersions refuses calls without A2A-Version, as the specification
	// says (§3.6.2). False accepts them in the version of their method or
	// route, because many clients omit the header.
	StrictVersions bool
	// PublicURL is the address that a card, also the extended one, names if it lists no
	// interfaces. Empty means the scheme and host of the request for the card.
	PublicURL string
	// TrustedProxies are the addresses of proxies whose Forwarded or
	// X-Forwarded-Proto, -Host, -Port and -Prefix give the requested address,
	// unless PublicURL does, and whose Forwarded or X-Forwarded-For give the
	// client's; see ClientAddr. They must set or remove these headers, because
	// clients can send them, too. None means that no such header is trusted.
	TrustedProxies []netip.Prefix
	// CardProfile selects the versions that the card is for. Zero means all.
	CardProfile CardProfile
	// Ready returns an error if the service cannot take requests; /readyz sends its
	// text to every caller. Nil means ready until Drain is called.
	Ready func() error
	// Keys returns the public keys of the server's webhooks as a JSON Web Key
	// Set, for /.well-known/jwks.json; see Webhooks.JWKS. Nil, or one that
	// returns nil, means that there are none.
	Keys func(context.Context) ([]byte, error)
	// Identity authenticates requests. Nil means that a handler in front does,
	// with a2a.WithCaller, or that all callers are anonymous.
	Identity Identity
	// Recheck is how often the Identity checks a long call again: a stream, or a
	// call that waits for the agent. The call ends when its credentials are no
	// longer valid, or give another caller or other scopes; it goes on while the
	// check itself fails. Zero means 30 s; negative, never.
	Recheck time.Duration
	// Limits bound what one request and one caller may use.
	Limits Limits
	// Memory is the budget for large bodies, if Webhooks or other servers share
	// it; it overrides Limits.Bodies. Nil means a budget of its own, of
	// Limits.Bodies bytes.
	Memory *Memory
	// Audit gets a record per call: who did what, or was refused. It never has
	// contents or secrets. Nil discards.
	Audit *slog.Logger
	// Requests gets a record per call when it ends, a stream's with its last event:
	// AuditRequest with the operation, the caller, the agent, the task, the result and
	// the time it took. It never has contents or secrets. Calls of callers without a
	// name are recorded up to 20 a second, 1,000 at once; the next record says how many
	// were skipped. Nil discards.
	Requests *slog.Logger
	// Origins are the origins whose pages may call from a browser, such as
	// https://console.example.org, also with the credentials that the browser has. None
	// means that only pages of the same origin may.
	Origins []string
	// Beside has handlers for paths that belong to no agent, such as an admin API. Each
	// gets the requests for its path, such as /admin/v1, and for the paths below it,
	// unchanged, unless a longer path of another handler fits. Hosts and the time limit
	// of bodies apply to them; Identity, Origins and Limits do not. Only a Host has
	// them.
	Beside map[string]http.Handler
	// Front is the path of Beside that a browser is redirected to when a person opens
	// /, such as /console. Empty means that browsers get the same text as other
	// clients.
	Front string
	// Hosts are the names, without port, that a request may be for. Others are refused,
	// so that no web page can reach a server on its visitor's machine through a name
	// that it made resolve to it. /livez, /healthz and /readyz take any name. None
	// means any name for all paths.
	Hosts []string
	// Sign returns the signatures of a card's document that is about to be
	// published, with its interfaces; each document is signed once, for as long as
	// there is room to remember it. Errors are internal. It needs PublicURL, or a
	// card that lists interfaces, because nothing from a request is ever signed.
	// Nil means that cards are not signed. See docs/design/0007.
	Sign func(card []byte) ([]*a2a.AgentCardSignature, error)
	// CardKeys is the JSON Web Key Set that verifies the cards' signatures, for
	// CardKeysPath. Nil means no key set.
	CardKeys []byte
	// Logger gets a record per failed request: internal errors with their
	// cause as errors, others for debugging. Nil discards.
	Logger *slog.Logger
	// CardMaxAge is how long clients may keep the card, to the second. Zero
	// means 5 minutes; negative, that they must ask each time.
	CardMaxAge time.Duration
	// TracerProvider makes a span for each call of an operation. Nil traces nothing;
	// the traceparent of a call is passed on to the service unchanged.
	TracerProvider trace.TracerProvider
	// MeterProvider measures calls and streams: docs/observability.md has the metrics.
	// Nil measures nothing.
	MeterProvider metric.MeterProvider
}

func (o *Options) recheck() time.Duration { return cmp.Or(o.Recheck, 30*time.Second) }

func (o *Options) maxBody() int64 { return cmp.Or(o.MaxBody, 8<<20) }

func (o *Options) keepAlive() time.Duration { return cmp.Or(o.KeepAlive, 15*time.Second) }

func (o *Options) writeTimeout() time.Duration { return cmp.Or(o.WriteTimeout, 30*time.Second) }

func (o *Options) publicURL() string { return strings.TrimRight(o.PublicURL, "/") }

func (o *Options) keys(ctx context.Context) ([]byte, error) {
	if o.Keys == nil {
		return nil, nil
	}
	return o.Keys(ctx)
}

func (o *Options) ready() error {
	if o.Ready == nil {
		return nil
	}
	return o.Ready()
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }

func (o *Options) cardMaxAge() time.Duration {
	return max(cmp.Or(o.CardMaxAge, 5*time.Minute), 0)
}
