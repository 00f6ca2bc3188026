package egress

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/parley-a2a/parley/internal/scarce"
	"github.com/parley-a2a/parley/internal/upload"
)

// Limits bounds the exchanges of a client. A nil *Limits means all defaults.
type Limits struct {
	// Timeout bounds an exchange from the look-up to the last byte of the
	// body, redirects included. Zero means 10 s; negative means none.
	Timeout time.Duration
	// Body bounds the body of an answer, in bytes; reading on is ErrTooLarge.
	// Nothing is decompressed. Zero means 1 MiB; negative means no limit.
	Body int64
	// Header bounds the header of an answer, in bytes. Zero means 64 KiB.
	Header int64
	// PerHost bounds the connections to one host. Zero means 8.
	PerHost int
	// Patient dials again, for ten minutes at most, while this machine has no file
	// descriptor or memory for a connection. Otherwise that is an error at once.
	Patient bool
	// TLS is for other roots of trust. Nil means those of the system, from
	// TLS 1.2 on.
	TLS *tls.Config
}

func (l *Limits) timeout() time.Duration {
	return max(cmp.Or(l.Timeout, 10*time.Second), 0)
}

func (l *Limits) body() int64 { return cmp.Or(l.Body, 1<<20) }

func (l *Limits) header() int64 { return cmp.Or(l.Header, 64<<10) }

func (l *Limits) perHost() int { return cmp.Or(l.PerHost, 8) }

// Transport returns a transport that goes only where the policy lets it. It
// keeps at most 128 idle connections, 8 for each host, for 30 s; share it, or
// a Client, among all requests of a kind. It knows no timeout but that of a
// dial, no limit of bodies, and no redirects: Client does.
func (p *Policy) Transport(l *Limits) *http.Transport {
	p, l = p.orStrict(), cmp.Or(l, new(Limits))
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.TLS != nil {
		t = l.TLS.Clone()
	}
	dial := scarce.DialFunc(p.DialContext)
	if l.Patient {
		dial = scarce.Dial(dial)
	}
	return &http.Transport{
		// Asked for each request that has no connection of HTTP/2 yet, this is
		// where a transport can judge the scheme, too, and a copy of it still
		// does. The proxy of the policy is DialContext's business.
		Proxy: func(r *http.Request) (*url.URL, error) {
			_, err := p.checkURL(r.URL)
			return nil, err
		},
		DialContext:            dial,
		TLSClientConfig:        t,
		TLSHandshakeTimeout:    dialTimeout,
		DisableCompression:     true, // a small body stays small
		ForceAttemptHTTP2:      true,
		HTTP2:                  upload.HTTP2(),
		MaxIdleConns:           128,
		MaxIdleConnsPerHost:    8, // as many as the engine posts at a time for a caller
		MaxConnsPerHost:        l.perHost(),
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: l.header(),
	}
}

// Client returns a client that goes only where the policy lets it, with
// everything bounded. It follows at most 3 redirects, each judged as the first
// URL was; never from https to http, never from a public host to one that only
// Loopback or a rule by its name or address opens, and never in a way that
// drops the body of a request: such an answer is returned as it is. A redirect to another scheme,
// host or port takes nothing along but headers that describe the content. It
// has no cookies.
//
// The *url.Error it returns has the URL in it, with its query.
func (p *Policy) Client(l *Limits) *http.Client {
	p, l = p.orStrict(), cmp.Or(l, new(Limits))
	return &http.Client{
		Transport:     &bounded{p.Transport(l), p, l.body()},
		CheckRedirect: p.checkRedirect,
		Timeout:       l.timeout(),
	}
}

// bounded is a transport that judges each URL and whose answers have bodies of
// bounded length.
type bounded struct {
	*http.Transport
	policy *Policy
	max    int64
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if t, err := b.policy.checkURL(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		b.policy.logRefused(r.Context(), t, netip.Addr{}, err)
		return nil, err
	}
	res, err := b.Transport.RoundTrip(r)
	if err != nil || b.max < 0 {
		return res, err
	}
	if res.ContentLength > b.max && r.Method != http.MethodHead {
		res.Body.Close()
		return nil, ErrTooLarge
	}
	res.Body = &boundedBody{res.Body, b.max}
	return res, nil
}

// ErrTooLarge is the error of reading a body past Limits.Body.
var ErrTooLarge = errors.New("the answer is larger than allowed")

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(to []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// One byte more than allowed tells a body that just fits from one that
	// does not.
	n, err := b.ReadCloser.Read(to[:min(int64(len(to)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
