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

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

// AddressError says that a card or a redirect names an address that is not allowed for
// it: see Options.AnyAddress. Nothing was sent there.
type AddressError struct {
	// Host is the address that was named.
	Host string
	// Reason says why it is not called.
	Reason string
}

func (e *AddressError) Error() string {
	return e.Reason + " (if you trust it: Options.AnyAddress, egress.allow of a proxied agent in parley.yaml, or a copy of the card as a file)"
}

// source says where a card or a redirect came from. A nil *source means the caller,
// whose addresses are not restricted.
type source struct {
	home   *url.URL // the URL that the caller named
	reach  egress.Reach
	secure bool // it came by https
}

// check checks an address that the source names, as far as the URL shows it. The
// addresses of a host name are checked when it is dialled.
func (s *source) check(u *url.URL) error {
	if s == nil || s.reach == egress.Anywhere {
		return nil
	}
	if s.reach == egress.Internet && s.secure && !encrypted(u) {
		return s.refuse(u, "it is not encrypted, but the document that names it came by https")
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

// isHome reports whether a URL leads to the host that the caller named. On another port
// a name may lead elsewhere; an IP address cannot.
func (s *source) isHome(u *url.URL) bool {
	if s.home == nil || !strings.EqualFold(s.home.Hostname(), u.Hostname()) {
		return false
	}
	_, err := netip.ParseAddr(u.Hostname())
	return err == nil || egress.PortOf(s.home) == egress.PortOf(u)
}

// journey is a request with its redirects.
type journey struct {
	from atomic.Pointer[source] // of the next address
}

type journeyKey struct{}

// leave returns a context for a request to an address that from names, and the journey
// that begins with it.
func (o *Options) leave(ctx context.Context, from *source) (context.Context, *journey) {
	j := new(journey)
	if o.AnyAddress {
		return ctx, j
	}
	j.from.Store(from)
	return context.WithValue(ctx, journeyKey{}, j), j
}

// arrived notes the source of an answer, which may name the address of the next
// request. An answer may name no more than the document that led to it.
func (j *journey) arrived(u *url.URL, reach egress.Reach) {
	from := j.from.Load()
	next := &source{home: u, reach: reach, secure: encrypted(u)}
	if from != nil {
		next.home, next.reach, next.secure = from.home, max(from.reach, reach), from.secure || next.secure
	}
	j.from.Store(next)
}

// Named returns a transport for other addresses in the card, such as those of its
// security schemes. They are restricted like those of its interfaces: see
// Options.AnyAddress. Nothing is added to a request.
func (c *Client) Named() http.RoundTripper { return named{c} }

type named struct{ c *Client }

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, _ := n.c.opts.leave(req.Context(), n.c.from)
	return n.c.http.Transport.RoundTrip(req.WithContext(ctx))
}

// Source says where a document that names agents, such as a catalog, came from, and so
// which addresses it may name: see Options.From. It can be stored as text.
type Source struct{ s source }

var reaches = map[egress.Reach]string{egress.Anywhere: "anywhere", egress.Network: "network", egress.Internet: "internet"}

// MarshalText returns a form for UnmarshalText.
func (s *Source) MarshalText() ([]byte, error) {
	home := ""
	if s.s.home != nil {
		home = s.s.home.Scheme + "://" + s.s.home.Host
	}
	return fmt.Appendf(nil, "%s %t %s", reaches[s.s.reach], s.s.secure, home), nil
}

// UnmarshalText reads the result of MarshalText.
func (s *Source) UnmarshalText(text []byte) error {
	words := strings.Split(string(text), " ")
	if len(words) == 3 {
		for reach, name := range reaches {
			home, err := url.Parse(words[2])
			if name != words[0] || err != nil || words[1] != "true" && words[1] != "false" {
				continue
			}
			s.s = source{reach: reach, secure: words[1] == "true"}
			if words[2] != "" {
				s.s.home = home
			}
			return nil
		}
	}
	return errors.New("not a source")
}

func (s *Source) orNil() *source {
	if s == nil {
		return nil
	}
	return &s.s
}

// Document fetches a JSON document of at most 1 MiB from an http or https URL, in the
// way that Resolve fetches cards, and returns its source. The error is a *CardError, or
// the context's.
func (r *Resolver) Document(ctx context.Context, at string) ([]byte, *Source, error) {
	u := a2a.WebURL(at)
	if u == nil {
		return nil, nil, &CardError{Ref: printable(at), Kind: CardNotFound, Err: errors.New("not an http or https URL")}
	}
	if err := r.opts.checkCredentials(); err != nil {
		return nil, nil, err
	}
	doc, err := r.fetch(ctx, u)
	switch {
	case err == nil:
		s := new(Source)
		if doc.from != nil {
			s.s = *doc.from
		}
		return doc.body, s, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*CardError](err); ok {
		e.Ref = printable(at)
		if _, redirect := errors.AsType[*errRedirect](err); e.Kind == CardNotFound && !redirect {
			e.Err = fmt.Errorf("there is no document at %s", location(u))
		}
	}
	return nil, nil, err
}
