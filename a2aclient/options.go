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
	// HTTPClient performs all requests. Its Timeout must be 0, or streams are cut. Redirects are followed
	// as Client says before its CheckRedirect is asked. For gRPC its Transport is copied and set to HTTP/2;
	// any type but *http.Transport must speak HTTP/2 itself. Nil means a client of our own: 10 s to
	// connect, 30 s for a TLS handshake, no proxy.
	HTTPClient *http.Client
	// Bindings are the caller's preferred bindings, best first, such as
	// a2a.BindingHTTPJSON. Those that the card does not offer are skipped; if
	// none is left, the card's order counts. Empty means the card's order.
	Bindings []string
	// Version forces a protocol version: 0.1, 0.2, 0.3, 1.0 or 1.1. Cards may be wrong: if
	// the card does not list the version, the client speaks it at the card's addresses, and
	// tries no other if the agent refuses it. A major version alone, such as 1, takes the
	// best version of it that both sides know, and no other. Empty negotiates: the best that
	// both sides know, the draft 1.1 only where there is no 1.0.
	Version string
	// Bearer and APIKey are credentials; they go where the card's security
	// schemes say. Where it says nothing, a bearer token goes into
	// Authorization and an API key into X-API-Key.
	Bearer string
	APIKey string
	// Token returns the bearer token of a request to an address of the card's agent, ""
	// for none. It is asked before each request where Bearer and User are empty, but
	// not for cards, and may be asked by many goroutines at once. Its error fails the
	// request. Nil means no token.
	Token func(ctx context.Context, card *a2a.AgentCard, to *url.URL) (string, error)
	// User and Password are credentials of HTTP basic authentication, in place of
	// Bearer: there is one Authorization header. User has no colon.
	User, Password string
	// Header is sent with every request: service parameters (§3.2.6). It
	// replaces the client's own headers of the same names, except
	// A2A-Extensions, which is joined with Extensions.
	Header http.Header
	// Extensions are the URIs of extensions the caller supports.
	Extensions []string
	// CheckCard checks the document of each card that a reference leads to, as it
	// was fetched or read, and returns the one to use in its place: the signed
	// content of a signed card. If it returns an error, the agent is not called;
	// nor is an agent without a card. Extended cards are checked, too: as received
	// or, over gRPC, in their JSON form of 1.0; those of 0.3 over gRPC have no such
	// form and are refused. It may be called by many goroutines at once, again for
	// a card that is kept. Cards passed to New are not checked. Nil accepts any
	// card.
	CheckCard func(ctx context.Context, doc []byte) ([]byte, error)
	// AnyAddress lets cards and redirects name any address. Without it, a
	// document from a public address may name public addresses only, and from
	// https no http; one from a private network may name private and public
	// addresses; one from this machine may name any. The address that the caller
	// gave, a card in a file, and a card passed to New are not judged. A name is
	// judged by the address that is dialled. Behind an HTTP proxy, and with a
	// Transport that is neither an *http.Transport nor has the methods Base()
	// *http.Transport and Over(http.RoundTripper) http.RoundTripper, which return
	// the one below and the same above another, only what the URL says is known.
	AnyAddress bool
	// From is the document that named the references which a Resolver gets: addresses
	// that it may not name, by the rules of AnyAddress, are not called, and neither are
	// files and agents without a card. Nil means that the caller named them.
	From *Source
	// UnaryTimeout bounds a whole non-streaming call apart from SendMessage,
	// which waits for the agent, and each request for a card. Zero means 60 s;
	// negative means none.
	UnaryTimeout time.Duration
	// Retries is how often in a row a stream that was cut is resumed, or a
	// message that got no answer sent again, before giving up. Zero means 10;
	// negative means never.
	Retries int
	// Lost is told that the connection of a stream is lost and will be tried again,
	// with the task's id, "" before it is known; and with a nil error that the stream
	// goes on. It is called by the goroutine that ranges over the stream. Nil is not
	// called.
	Lost func(taskID string, err error)
	// TracerProvider makes a client's span of each operation: a child of the
	// context's span, if that has one. Nil means the provider of the context's span, so
	// that nothing is recorded in a context without one. Either way requests say which
	// trace they belong to: the context's span or, in the run of an agent, a2a.Caller.Trace.
	TracerProvider trace.TracerProvider
	// Logger gets one debug record per request, and one at level info when
	// another interface or version is used than the card says, or a message is
	// sent again; none has credentials or queries. Nil discards.
	Logger *slog.Logger

	lookup egress.Resolver // of tests; nil: the system's
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

// httpClient returns a client that follows redirects by our rules. The
// caller's is copied, not changed.
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

// setHeader puts the caller's and the protocol's service parameters into h, as
// a version has them.
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

// cardVersion is the version in which cards are asked for: some servers have
// one for each.
func (o *Options) cardVersion() string {
	if o.Version != "" && o.major() == "" {
		return dialect.Minor(o.Version)
	}
	return dialect.Versions[0]
}

// major returns the major version that Version names alone; "" if it does not.
func (o *Options) major() string {
	if strings.Contains(o.Version, ".") {
		return ""
	}
	return o.Version
}

// takes reports whether Version leaves a version to be spoken.
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

// checkCredentials refuses what no header can carry, before it is in an error
// of some other package.
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
