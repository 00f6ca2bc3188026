package egress

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Policy says which addresses may be reached. The zero Policy, and a nil one, allow
// only https to public hosts.
type Policy struct {
	// Loopback allows this machine, for http and https: the addresses 127.0.0.0/8 and
	// ::1, written as such, and localhost. It does not cover other names that lead
	// there. It is for servers that themselves listen on loopback only.
	Loopback bool
	// Allow has exceptions. A rule by address allows what it covers. A rule by name
	// allows that name, even if it leads to private addresses; but if it leads to
	// loopback, link-local or other special ones, that takes a rule by address. A rule
	// with a port allows that port, bad or not.
	Allow []Rule
	// Deny has exceptions to all of that, including Allow and Loopback.
	Deny []Rule

	// Proxy is an HTTP proxy, http or https, with user and password if it needs them.
	// All connections except those to loopback go through its CONNECT, to the address
	// that was looked up and judged here. The proxy itself is not judged. Nil means
	// none, whatever the environment says.
	Proxy *url.URL

	// Patient makes transports dial again, for ten minutes at most, while this machine
	// has no file descriptor or memory for a connection. Otherwise that is an error at
	// once.
	Patient bool

	// Resolver looks names up. Nil means net.DefaultResolver.
	Resolver Resolver
	// Dial makes connections; address is that of the proxy, or one in digits that was
	// judged. Nil means a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger gets a record at level warn for each refusal, with the host and
	// what it led to, without the rest of the URL. Nil discards.
	Logger *slog.Logger
}

// Resolver is the part of a *net.Resolver that a policy needs. Names end with a dot
// unless a rule allows the name, so that nothing is appended to names from strangers.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

var strict = new(Policy)

func (p *Policy) orStrict() *Policy { return cmp.Or(p, strict) }

func (p *Policy) logger() *slog.Logger { return cmp.Or(p.Logger, slog.New(slog.DiscardHandler)) }

// Check judges a URL as far as that is possible without looking its name up, and
// returns it with scheme and host in one spelling, without the default port. The error
// is a *Refused.
func (p *Policy) Check(raw string) (*url.URL, error) {
	p = p.orStrict()
	u, err := parseURL(raw)
	if err == nil {
		var t target
		if t, err = p.checkURL(u); err == nil {
			u.Host = t.authority(u.Scheme)
			return u, nil
		}
	}
	p.logger().Warn("address refused", "host", hostOf(u), "reason", err.(*Refused).Reason)
	return nil, err
}

// hostOf returns the host of a URL, which may be nil, shortened for a record.
func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Host[:min(len(u.Host), 253)]
}

// checkURL judges a URL without looking names up. It is called again for each request,
// because redirects lead to other URLs.
func (p *Policy) checkURL(u *url.URL) (target, error) {
	switch {
	case u.Scheme == "https", u.Scheme == "http":
	case p.Loopback:
		return target{}, refuse("must begin with https://, or with http:// for a receiver on this machine")
	default:
		return target{}, refuse("must begin with https://")
	}
	switch {
	case u.Opaque != "" || u.Host == "":
		return target{}, refuse("has no host")
	case u.User != nil:
		return target{}, refuse("must not have a user or a password in it")
	}
	t, err := parseTarget(u.Hostname(), strings.HasPrefix(u.Host, "["), PortOf(u))
	if err != nil {
		return target{}, err
	}
	if err := p.checkTarget(t); err != nil {
		return t, err
	}
	if u.Scheme == "http" && !p.plainTo(t) {
		return t, refuse("must begin with https://")
	}
	return t, nil
}

// checkTarget judges a host and a port as they are written.
func (p *Policy) checkTarget(t target) error {
	if slices.ContainsFunc(p.Deny, func(r Rule) bool { return r.ofName(t.host, t.port) }) {
		return refuse("has a host that is denied here")
	}
	_, bad := slices.BinarySearch(badPorts, t.port)
	if bad && !slices.ContainsFunc(p.Allow, func(r Rule) bool { return r.port == t.port && r.of(t) }) {
		return refuse("has a port that is not for HTTP")
	}
	if t.addr.IsValid() {
		return p.checkAddr(t, t.addr)
	}
	if p.named(t) || p.Loopback && t.isLocal() {
		return nil
	}
	return t.judge()
}

// checkAddr judges an address that the target is or leads to. This check decides: what
// passes is dialed.
func (p *Policy) checkAddr(t target, a netip.Addr) error {
	a = a.Unmap()
	inner, translated := throughNAT64(a)
	if slices.ContainsFunc(p.Deny, func(r Rule) bool { return r.ofAddr(a, t.port) || translated && r.ofAddr(inner, t.port) }) {
		return refuse("leads to an address that is denied here")
	}
	switch c := classify(a); {
	case a.Zone() == "" && slices.ContainsFunc(p.Allow, func(r Rule) bool { return r.ofAddr(a, t.port) }):
		return nil
	case c == public:
		return nil
	case c == private && p.named(t):
		return nil
	case c == loopback && p.Loopback && (t.addr.IsValid() || t.isLocal()):
		return nil
	case t.addr.IsValid():
		return refuse("leads to " + string(c))
	}
	// Not which kind: callers must not learn about names of the network's own.
	return refuse("has a host that does not lead to a public address")
}

// named reports whether a rule allows the target by its name.
func (p *Policy) named(t target) bool {
	return slices.ContainsFunc(p.Allow, func(r Rule) bool { return r.ofName(t.host, t.port) })
}

// plainTo reports whether http is allowed for a target that has passed.
func (p *Policy) plainTo(t target) bool {
	if p.Loopback && (t.isLocal() || t.addr.IsValid() && classify(t.addr) == loopback) {
		return true
	}
	return slices.ContainsFunc(p.Allow, func(r Rule) bool { return r.plain && r.of(t) })
}

// Refused says why the policy forbids an address.
type Refused struct {
	// Reason is for the caller that named the address: what is wrong with it, as the
	// rest of a sentence that begins with "the URL" or "the host". It never tells the
	// addresses of a name.
	Reason string
}

func (e *Refused) Error() string { return "address refused: " + e.Reason }

func refuse(reason string) error { return &Refused{reason} }
