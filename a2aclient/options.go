package a2aclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/upload"
)

// Options adjusts a client. A nil *Options means all defaults.
type Options struct {
	// HTTPClient performs all requests. Its Timeout must be 0, or streams are cut.
	// Client's rules for redirects apply before its CheckRedirect is called. For gRPC
	// its Transport is copied and set to HTTP/2; a Transport that is not an
	// *http.Transport must speak HTTP/2 itself. Nil means a default client: 10 s to
	// connect, 30 s for a TLS handshake, no proxy.
	HTTPClient *http.Client
	// Bindings are the caller's preferred bindings, best first, such as
	// a2a.BindingHTTPJSON. Those that the card does not offer are skipped; if
	// none is left, the card's order counts. Empty means the card's order.
	Bindings []string
	// Version forces a protocol version: 0.1, 0.2, 0.3, 1.0 or 1.1. Cards may be wrong:
	// if the card does not list the version, the client still speaks it at the card's
	// addresses, and tries no other if the agent refuses it. A major version alone,
	// such as 1, means the best of its minor versions that both sides know, and no
	// other. Empty chooses the best version that both sides know, and the draft 1.1
	// only if there is no 1.0.
	Version string
	// Bearer and APIKey are credentials; the card's security schemes say where they go.
	// If the card does not say, a bearer token goes into Authorization and an API key
	// into X-API-Key.
	Bearer string
	APIKey string
	// Token returns the bearer token for a request to an address of the card's agent,
	// or "" for none. It is called before each request if Bearer and User are empty,
	// except requests for cards, and may be called by many goroutines at once. Its
	// error fails the request. Nil means no token.
	Token func(ctx context.Context, card *a2a.AgentCard, to *url.URL) (string, error)
	// User and Password are credentials of HTTP basic authentication, in place of
	// Bearer, because there is only one Authorization header. User must not contain a
	// colon.
	User, Password string
	// Header is sent with every request: service parameters (§3.2.6). It
	// replaces the client's own headers of the same names, except
	// A2A-Extensions, which is joined with Extensions.
	Header http.Header
	// Extensions are the URIs of extensions that the caller supports.
	Extensions []string
	// CheckCard checks the document of each card that a reference leads to, as it was
	// fetched or read, and returns the document to use in its place: the signed content
	// of a signed card. If it returns an error, the agent is not called; nor is an
	// agent without a card. Extended cards are checked, too: as received or, over gRPC,
	// in their JSON form of 1.0; those of 0.3 over gRPC have no such form and are
	// refused. It may be called by many goroutines at once, and again for a cached
	// card. Cards passed to New are not checked. Nil accepts any card.
	CheckCard func(ctx context.Context, doc []byte) ([]byte, error)
	// AnyAddress lets cards and redirects name any address. Without it, a document from
	// a public address may name only public addresses, and from https no http; one from
	// a private network may name private and public addresses; one from this machine
	// may name any. The address that the caller gave, a card in a file, and a card
	// passed to New are not restricted. A host name is judged by the address that is
	// dialled. Only the URL is judged behind an HTTP proxy, and with a Transport of an
	// unknown kind: neither an *http.Transport nor one with the methods Base()
	// *http.Transport, which returns the transport below it, and
	// Over(http.RoundTripper) http.RoundTripper, which returns the same layer above
	// another transport.
	AnyAddress bool
	// From is the document that named the references for a Resolver. By the rules of
	// AnyAddress, addresses that it may not name are not called, nor are files and
	// agents without a card. Nil means that the caller named them.
	From *Source
	// UnaryTimeout bounds each request for a card, and a whole call that does not
	// stream, except SendMessage, which waits for the agent. Zero means 60 s; negative
	// means none.
	UnaryTimeout time.Duration
	// Retries is how often in a row a cut stream is resumed, or a message that got no
	// answer sent again, before giving up. Zero means 10; negative means never.
	Retries int
	// Lost is called when the connection of a stream is lost and will be tried again,
	// with the task's id ("" before it is known), and with a nil error when the stream
	// goes on. It is called by the goroutine that ranges over the stream. May be nil.
	Lost func(taskID string, err error)
	// TracerProvider makes a client span for each operation, as a child of the
	// context's span, if there is one. Nil means the provider of the context's span, so
	// that nothing is recorded in a context without one. In both cases requests carry
	// their trace: that of the context's span or, in the run of an agent,
	// a2a.Caller.Trace.
	TracerProvider trace.TracerProvider
	// Logger gets one debug record per request, and an info record when the client uses
	// another interface or version than the card's, or sends a message again; none
	// contains credentials or queries. Nil discards.
	Logger *slog.Logger

	lookup egress.Resolver // for tests; nil: the system's
}

func (o *Options) unaryTimeout() time.Duration {
	return max(cmp.Or(o.UnaryTimeout, 60*time.Second), 0)
}

func (o *Options) retries() int {
	return max(cmp.Or(o.Retries, 10), 0)
}

func (o *Options) lost(taskID string, err error) {
	if o.Lost != nil {
		o.Lost(taskID, err)
	}
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }

// httpClient returns a client that follows redirects by this package's rules. The
// caller's client is copied, not changed.
func (o *Options) httpClient() *http.Client {
	var c http.Client
	if o.HTTPClient != nil {
		c = *o.HTTPClient
	} else {
		c.Transport = &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 30 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConnsPerHost: 64,
			ForceAttemptHTTP2:   true,
			HTTP2:               upload.HTTP2(),
		}
	}
	c.Transport = newGuard(c.Transport, o.lookup)
	theirs := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := checkRedirect(req, via); err != nil {
			return err
		}
		if theirs != nil {
			return theirs(req, via)
		}
		return nil
	}
	return &c
}

// setHeader sets the caller's and the protocol's service parameters in h, in the form
// of a version.
func (o *Options) setHeader(h http.Header, version string) {
	if dialect.HasVersionHeader(version) {
		h.Set("A2A-Version", version)
	}
	for name, values := range o.Header {
		name = http.CanonicalHeaderKey(name)
		h[name] = append([]string(nil), values...)
	}
	d, _ := dialect.ParseVersion(version)
	const extensions = "A2a-Extensions" // as net/http spells it
	list := append(append([]string(nil), o.Extensions...), h[extensions]...)
	if len(list) == 0 {
		return
	}
	h.Del(extensions)
	h.Set(dialect.ExtensionsHeader(d), strings.Join(list, ",")) // one header (§9.2)
}

// cardVersion is the version in which cards are requested: some servers have one card
// for each.
func (o *Options) cardVersion() string {
	if o.Version != "" && o.major() == "" {
		return dialect.Minor(o.Version)
	}
	return dialect.Versions[0]
}

// major returns the major version if Version names only that, otherwise "".
func (o *Options) major() string {
	if strings.Contains(o.Version, ".") {
		return ""
	}
	return o.Version
}

// takes reports whether Version allows this version.
func (o *Options) takes(version string) bool {
	if m := o.major(); m != "" {
		return strings.HasPrefix(version, m+".")
	}
	return o.Version == "" || dialect.Minor(o.Version) == version
}

func (o *Options) checkVersion() error {
	if o.major() != "" && slices.ContainsFunc(dialect.Versions, o.takes) {
		return nil
	}
	if o.Version == "" || dialect.CheckVersion(o.Version) == nil {
		return nil
	}
	return a2a.Errorf(a2a.CodeVersionNotSupported, "protocol version %q is not spoken by this client: use %s",
		o.Version, strings.Join(dialect.Versions, ", "))
}

func (o *Options) hasUser() bool { return o.User != "" || o.Password != "" }

// checkCredentials refuses credentials that no header can carry, before an error of
// some other package quotes them.
func (o *Options) checkCredentials() error {
	switch {
	case o.Bearer != "" && o.hasUser():
		return a2a.Invalid("Options.Bearer", "excludes User and Password: a request has one of them")
	case strings.Contains(o.User, ":"):
		return a2a.Invalid("Options.User", "holds a colon, which ends the name in a request")
	}
	for _, f := range []struct{ name, value string }{
		{"Bearer", o.Bearer}, {"APIKey", o.APIKey}, {"User", o.User}, {"Password", o.Password},
	} {
		if strings.ContainsFunc(f.value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return a2a.Invalid("Options."+f.name, "holds a control character, such as a line break at its end")
		}
	}
	return nil
}
