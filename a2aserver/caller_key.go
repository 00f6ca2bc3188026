package a2aserver

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port"
)

// callerKey identifies a caller where callers are counted: by name, or by network.
type callerKey struct {
	tenant, subject string
	from            netip.Prefix // of an anonymous caller
}

func (s *Server) keyOf(ctx context.Context, q *request) callerKey {
	c := a2a.CallerFrom(ctx)
	if c.Subject != "" {
		return callerKey{tenant: c.Tenant, subject: c.Subject}
	}
	return callerKey{tenant: c.Tenant, from: port.Network(s.opts.clientAddr(q.remote, q.headers))}
}

func (s *Server) strangerOf(r *http.Request) netip.Prefix {
	q := ofHTTP(r, "")
	return s.strangerAt(&q)
}

// strangerAt returns the network that a stranger's request is counted by: the zero
// value, if it is from a proxy that does not name its client.
func (s *Server) strangerAt(q *request) netip.Prefix {
	a := s.opts.clientAddr(q.remote, q.headers)
	if s.opts.trustsAddr(a) {
		return netip.Prefix{}
	}
	return port.Network(a)
}

// ClientAddr returns a function that returns the address a request comes from: that of
// its connection or, if that is a trusted proxy's, the one that the proxies name in
// Forwarded (RFC 7239) or X-Forwarded-For. In a list it is the last one that is not a
// trusted proxy's, because a client may have written those before it. If Forwarded and
// an X-Forwarded header disagree, neither is believed, because the proxy passed one of
// them on unchanged.
func ClientAddr(trusted []netip.Prefix) func(*http.Request) string {
	o := &Options{TrustedProxies: trusted}
	return func(r *http.Request) string {
		if a := o.clientAddr(r.RemoteAddr, r.Header); a.IsValid() {
			return a.String()
		}
		return r.RemoteAddr
	}
}

// clientAddr is ClientAddr for a connection whose peer is remote. It returns the zero
// value if remote is not an address.
func (o *Options) clientAddr(remote string, h http.Header) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := port.PlainAddr(at.Addr())
	if !o.trustsAddr(addr) {
		return addr
	}
	hasStandard, hasOther := last(h["Forwarded"]) != "", hasXForwarded(h)
	standard := o.lastStranger(addr, h["Forwarded"], forwardedFor)
	other := o.lastStranger(addr, h["X-Forwarded-For"], parseNode)
	switch {
	case hasStandard && hasOther && standard != other:
		return addr
	case hasStandard:
		return standard
	}
	return other
}

// lastStranger walks a list of addresses from its end while they are trusted, and
// returns the last one it reached, or addr, the sender of the list, if it reached none.
// An unreadable address ends the list.
func (o *Options) lastStranger(addr netip.Addr, lines []string, parse func(string) (netip.Addr, bool)) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		for line, more := lines[i], true; more; {
			at := strings.LastIndexByte(line, ',')
			a, ok := parse(strings.TrimSpace(line[at+1:]))
			if !ok {
				return addr
			}
			if addr = a; !o.trustsAddr(a) {
				return addr
			}
			if more = at >= 0; more {
				line = line[:at]
			}
		}
	}
	return addr
}

// forwardedFor reads the address of one element of Forwarded.
func forwardedFor(element string) (netip.Addr, bool) {
	if !uncut(element) {
		return netip.Addr{}, false
	}
	for pair := range strings.SplitSeq(element, ";") {
		if name, value, _ := strings.Cut(pair, "="); strings.EqualFold(strings.TrimSpace(name), "for") {
			return parseNode(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return netip.Addr{}, false
}

// parseNode reads an address with or without a port; IPv6 with or without brackets.
func parseNode(s string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return port.PlainAddr(at.Addr()), true
	}
	if n := len(s); n > 2 && s[0] == '[' && s[n-1] == ']' {
		s = s[1 : n-1]
	}
	a, err := netip.ParseAddr(s)
	return port.PlainAddr(a), err == nil
}

func (o *Options) trustsAddr(ip netip.Addr) bool {
	return slices.ContainsFunc(o.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}
