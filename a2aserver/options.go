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
	// as a whole has no limit. A client that is behind 4 KiB/s by as much is too slow.
	// Zero means 30 s.
	WriteTimeout time.Duration
	// StrictVersions refuses calls without A2A-Version, as the specification
	// has it (§3.6.2). False takes them for the version of their method or
	// route, because many clients forget the header.
	StrictVersions bool
	// PublicURL is the address that a card, the extended one too, names if it
	// lists no interfaces itself. Empty means scheme and host of the request for the card.
	PublicURL string
	// TrustedProxies are the addresses of those in front whose Forwarded or
	// X-Forwarded-Proto, -Host, -Port and -Prefix say what the request was for,
	// where PublicURL does not, and whose Forwarded or X-Forwarded-For say whom it
	// came from; see ClientAddr. They must set or remove these headers, for
	// clients can send them, too. None means that nobody is believed.
	TrustedProxies []netip.Prefix
	// CardProfile says for which versions the card is. Zero means for all.
	CardProfile CardProfile
	// Ready says why the service cannot take requests; its text is sent to
	// whoever asks for /readyz. Nil means ready until Drain is called.
	Ready func() error
	// Keys returns the public keys of the server's webhooks as a JSON Web Key
	// Set, for /.well-known/jwks.json; see Webhooks.JWKS. Nil, or one that
	// returns nil, means that there are none.
	Keys func(context.Context) ([]byte, error)
	// Identity says who makes a request. Nil: whoever is in front does, by
	// a2a.WithCaller, or everybody is anonymous.
	Identity Identity
	// Recheck is how often the Identity is asked again about a call that takes
	// long, a stream or one that waits for the agent: it ends when its credentials
	// are not good any more, or for somebody else, or for other scopes; not while
	// that cannot be found out. Zero means 30 s; negative, never.
	Recheck time.Duration
	// Limits bound what one request and one caller may take.
	Limits Limits
	// Memory is what large bodies may take together, where Webhooks or other
	// servers share it; it goes before Limits.Bodies. Nil: one of its own, of
	// Limits.Bodies bytes.
	Memory *Memory
	// Audit gets a record per call: who did what, or was not let. It never has
	// contents or secrets. Nil discards.
	Audit *slog.Logger
	// Requests gets a record per call when it ends, a stream's with its last event:
	// AuditRequest with the operation, the caller, the agent, the task, the result and
	// the time it took. It never has contents or secrets. Calls of callers without a
	// name are recorded up to 20 a second, 1,000 at once; the next record says how many
	// were skipped. Nil discards.
	Requests *slog.Logger
	// Origins are those whose pages may call from a browser, such as
	// https://console.example.org, also with the credentials that the browser has.
	// None means that no page may, but for one that comes from the same origin.
	Origins []string
	// Beside are handlers of paths that are no agent's, such as an administration: each
	// gets the requests for its path, "/admin/v1", and for what is below that, as they
	// are. Hosts and the time for bodies are in front of them, and nothing else:
	// neither Identity nor Origins nor Limits. They are for a Host.
	Beside map[string]http.Handler
	// Front is the path of Beside that a browser is sent to when somebody opens / in it,
	// such as /console. Empty: it gets the text that everybody gets.
	Front string
	// Hosts are the names, without port, that a request may be for; others are
	// refused, so that no web page can reach a server on its visitor's machine
	// by a name that it had resolved to it. /livez, /healthz and /readyz are for any. None
	// means any for all.
	Hosts []string
	// Sign returns the signatures of a card's document that is about to be
	// published, with its interfaces; each document is signed once, for as long as
	// there is room to remember it. Errors are internal. It needs PublicURL, or a
	// card that lists interfaces: what is signed never comes from a request. Nil:
	// cards are not signed. See docs/design/0007.
	Sign func(card []byte) ([]*a2a.AgentCardSignature, error)
	// CardKeys is the JSON Web Key Set that the cards' signatures are verified
	// with, for CardKeysPath. Nil: there is none.
	CardKeys []byte
	// Logger gets a record per failed request: internal errors with their
	// cause as errors, others for debugging. Nil discards.
	Logger *slog.Logger
	// CardMaxAge is how long clients may keep the card, to the second. Zero
	// means 5 minutes; negative, that they must ask each time.
	CardMaxAge time.Duration
	// TracerProvider makes a span for each call of an operation. Nil: nothing is
	// traced; the traceparent that came with a call goes on to the service as it is.
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
