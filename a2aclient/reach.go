package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/egress"
)

// AddressError says that a card, or a redirect, names an address that it may not
// send its reader to: see Options.AnyAddress. Nothing was sent there.
type AddressError struct {
	// Host is the address that was named.
	Host string
	// Reason says why it is not called.
	Reason string
}

func (e *AddressError) Error() string {
	return e.Reason + " (if you trust it: Options.AnyAddress, egress.allow of a proxied agent in parley.yaml, or a copy of the card as a file)"
}

// source is where a card, or a redirect, came from. A nil *source is the caller's
// own word, which is not judged.
type source struct {
	home   *url.URL // what the caller named
	reach  egress.Reach
	secure bool // it came by https
}

// check judges an address that the source names, as far as it is written in the
// URL. The addresses behind a name are judged when it is dialled.
func (s *source) check(u *url.URL) error {
	if s == nil || s.reach == egress.Anywhere {
		return nil
	}
	if s.reach == egress.Internet && s.secure && !encrypted(u) {
		return s.refuse(u, "it is not encrypted, and what names it came by https")
	}
	if s.isHome(u) {
		return nil
	}
	if r, ok := errors.AsType[*egress.Refused](s.reach.Policy().CheckHost(u)); ok {
		return s.refuse(u, "the URL "+r.Reason)
	}
	return nil
}

func (s *source) refuse(u *url.URL, why string) error {
	from := "a public address"
	if s.reach == egress.Network {
		from = "a private network"
	}
	return &AddressError{Host: u.Host, Reason: fmt.Sprintf("%s://%s is named by a document from %s, and is not called: %s", u.Scheme, u.Host, from, why)}
}

// isHome reports whether a URL leads to what the caller named. On another port a
// name may lead elsewhere, which an address in digits cannot.
func (s *source) isHome(u *url.URL) bool {
	if s.home == nil || !strings.EqualFold(s.home.Hostname(), u.Hostname()) {
		return false
	}
	_, err := netip.ParseAddr(u.Hostname())
	return err == nil || hostPort(s.home) == hostPort(u)
}

// journey is a request with the redirects behind it.
type journey struct {
	from atomic.Pointer[source] // of the next address
}

type journeyKey struct{}

// leave returns a context for a request to an address that from names, and the
// journey that begins there.
func (o *Options) leave(ctx context.Context, from *source) (context.Context, *journey) {
	j := new(journey)
	if o.AnyAddress {
		return ctx, j
	}
	j.from.Store(from)
	return context.WithValue(ctx, journeyKey{}, j), j
}

// arrived notes where an answer came from, which names the address of the next
// request. An answer reaches no further than what sent us there.
func (j *journey) arrived(u *url.URL, reach egress.Reach) {
	from := j.from.Load()
	next := &source{home: u, reach: reach, secure: encrypted(u)}
	if from != nil {
		next.home, next.reach, next.secure = from.home, max(from.reach, reach), from.secure || next.secure
	}
	j.from.Store(next)
}

// Named returns a transport for other addresses that the card names, such as those of
// its security schemes. They are judged as those of its interfaces are: see
// Options.AnyAddress. Nothing is added to a request.
func (c *Client) Named() http.RoundTripper { return named{c} }

type named struct{ c *Client }

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, _ := n.c.opts.leave(req.Context(), n.c.from)
	return n.c.http.Transport.RoundTrip(req.WithContext(ctx))
}
