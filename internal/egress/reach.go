package egress

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Reach is how far a document or an answer may send its reader. It depends on the
// address that the document came from: a peer on the internet must not send us into our
// own network.
type Reach int8

const (
	Anywhere Reach = iota // it came from this machine
	Network               // from a private network: private and public addresses
	Internet              // from a public address: public addresses only
)

// ReachOf returns the reach of a document from an address. An address that stands for
// an IPv4 address may lead out of the private network: anybody with a public prefix can
// choose an interface of that form (ISATAP), and 6to4, Teredo and translators lead to
// public hosts.
func ReachOf(a netip.Addr) Reach {
	switch classify(a) {
	case loopback:
		return Anywhere
	case public, embedding:
		return Internet
	}
	return Network
}

// ReachOfURL returns the reach of a document from a URL whose address is not known, as
// behind an HTTP proxy: an address in digits determines it, and so does a name that is
// never public.
func ReachOfURL(u *url.URL) Reach {
	h, err := parseHost(u.Hostname(), strings.HasPrefix(u.Host, "["))
	switch {
	case err != nil:
		return Internet
	case h.addr.IsValid():
		return ReachOf(h.addr)
	case h.isLocal():
		return Anywhere
	case h.judge() != nil:
		return Network
	}
	return Internet
}

// Policy returns the policy that enforces the reach; nil for Anywhere. It is for CheckHost
// and DialContext, which do not judge schemes.
func (r Reach) Policy() *Policy {
	switch r {
	case Anywhere:
		return nil
	case Network:
		return &Policy{Allow: withinNetwork}
	}
	return new(Policy)
}

// withinNetwork allows every private host, and the addresses that some VPNs return in
// place of those of public names.
var withinNetwork = []Rule{mustRule("*"), mustRule("198.18.0.0/15")}

func mustRule(s string) Rule {
	r, err := ParseRule(s)
	if err != nil {
		panic(err)
	}
	return r
}

// CheckHost judges the host and port of a URL as they are written, without
// looking the name up. The error is a *Refused.
func (p *Policy) CheckHost(u *url.URL) error {
	t, err := parseTarget(u.Hostname(), strings.HasPrefix(u.Host, "["), PortOf(u))
	if err != nil {
		return err
	}
	return p.orStrict().checkTarget(t)
}

// AddrOf returns the address of a connection's peer; it is invalid if there is none.
func AddrOf(c net.Conn) netip.Addr {
	remote := c.RemoteAddr()
	if remote == nil {
		return netip.Addr{}
	}
	ap, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}
