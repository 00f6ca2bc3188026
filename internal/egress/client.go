package egress

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/scarce"
	"github.com/parley-a2a/parley/internal/upload"
)

// Transport returns a transport that goes only where the policy allows. It keeps at
// most 128 idle connections, 8 for each host, for 30 s; share it, or a Client, among
// all requests of a kind. It has no timeout except that of a dial, and follows no
// redirects.
func (p *Policy) Transport() *http.Transport {
	p = p.orStrict()
	t := Unjudged()
	// The transport calls this for each request that has no connection of HTTP/2 yet.
	// It is where a transport, and even a copy of it, can judge the scheme, too.
	// DialContext uses the proxy of the policy.
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		_, err := p.checkURL(r.URL)
		return nil, err
	}
	t.DialContext = p.DialContext
	if p.Patient {
		t.DialContext = scarce.Dial(p.DialContext)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.DisableCompression = true // a body is as large as what was received
	t.MaxIdleConns = 128
	t.MaxIdleConnsPerHost = 8 // as many as the engine posts at a time for a caller
	t.IdleConnTimeout = 30 * time.Second
	t.MaxResponseHeaderBytes = 64 << 10
	return t
}

// Unjudged returns a transport that goes wherever its user says: for agents, whose
// addresses the operator has named. It keeps at most 256 idle connections, 64 for each
// host, for 90 s, dials for 10 s, and dials again while this machine has no resources
// for a connection. It has no other timeout except that of a handshake, and no proxy.
func Unjudged() *http.Transport {
	return &http.Transport{
		DialContext:            scarce.Dial((&net.Dialer{Timeout: dialTimeout}).DialContext),
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  upload.HTTP2(),
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Client returns a client that goes only where the policy allows. It follows at most 3
// redirects, each judged as the first URL was; never from https to http, never from a
// public host to one that only Loopback or a rule by its name or address opens, and
// never in a way that drops the body of a request: such an answer is returned as it is.
// On a redirect to another scheme, host or port only headers that describe the content
// are kept. It has no cookies. It bounds neither the time of an exchange nor the size of a
// body, and decompresses nothing.
//
// The *url.Error that it returns contains the URL, with its query.
func (p *Policy) Client() *http.Client {
	p = p.orStrict()
	return &http.Client{Transport: &judging{p.Transport(), p}, CheckRedirect: p.checkRedirect}
}

// judging is a transport that judges each URL.
type judging struct {
	*http.Transport
	policy *Policy
}

func (j *judging) RoundTrip(r *http.Request) (*http.Response, error) {
	if t, err := j.policy.checkURL(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		j.policy.logRefused(r.Context(), t, netip.Addr{}, err)
		return nil, err
	}
	return j.Transport.RoundTrip(r)
}

const maxRedirects = 3

// harmless headers describe only the content. All others are removed when a redirect
// leaves the host: any of them may contain a credential, and a signature vouches for a
// request to this receiver.
var harmless = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Encoding", "Content-Language", "Content-Type", "User-Agent"}

// checkRedirect is called before a redirect is followed; then the transport judges the
// URL.
func (p *Policy) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return refuse("redirects more than 3 times")
	}
	first, last := via[0], via[len(via)-1]
	if r.Method != first.Method {
		return http.ErrUseLastResponse // 301, 302 and 303 make a POST a GET
	}
	if last.URL.Scheme == "https" && r.URL.Scheme != "https" {
		return refuse("redirects from https to http")
	}
	if p.opened(r.URL) && !p.opened(last.URL) {
		// An opened host is open to callers who name it, not to every receiver.
		return refuse("redirects to a host that is not public")
	}
	r.Header.Del("Referer") // the last URL, query and all
	// A credential dropped at one redirect is not sent again after the next.
	elsewhere := func(v *http.Request) bool { return origin(v.URL) != origin(first.URL) }
	if elsewhere(r) || slices.ContainsFunc(via, elsewhere) {
		for name := range r.Header {
			if !slices.Contains(harmless, name) {
				delete(r.Header, name)
			}
		}
	}
	return nil
}

// opened reports whether a URL that passes does so because of Loopback or of a rule
// that names its host or its address.
func (p *Policy) opened(u *url.URL) bool {
	t, err := parseTarget(u.Hostname(), strings.HasPrefix(u.Host, "["), PortOf(u))
	if err != nil {
		return false
	}
	return t.isLocal() || p.named(t) || t.addr.IsValid() && classify(t.addr) != public
}

func origin(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + PortOf(u)
}
