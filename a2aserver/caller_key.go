package a2aserver

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// callerKey tells callers apart where they are counted: by who they are, or by
// where they come from.
type callerKey struct {
	tenant, subject string
	from            netip.Prefix // of the anonymous
}

func (s *Server) keyOf(ctx context.Context, r *http.Request) callerKey {
	c := a2a.CallerFrom(ctx)
	if c.Subject != "" {
		return callerKey{tenant: c.Tenant, subject: c.Subject}
	}
	return callerKey{tenant: c.Tenant, from: network(s.opts.clientAddr(r.RemoteAddr, r.Header.Values))}
}

// network returns what counts as one address: of IPv6 the first 64 bits, which
// is what a single customer has at least. It is the zero value where there is no
// address, such as for a socket of the file system.
func network(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// ClientAddr returns what says where a request comes from: the address of its
// connection or, where that is one of the trusted proxies, the one that they
// name in Forwarded (RFC 7239) or X-Forwarded-For. Of a list that is the last
// that is not one of them: what stands before it anybody may have written. If
// both headers are there and differ neither is believed, as one of them passed
// as it came.
func ClientAddr(trusted []netip.Prefix) func(*http.Request) string {
	o := &Options{TrustedProxies: trusted}
	return func(r *http.Request) string {
		if a := o.clientAddr(r.RemoteAddr, r.Header.Values); a.IsValid() {
			return a.String()
		}
		return r.RemoteAddr
	}
}

// clientAddr is ClientAddr for a connection that calls its other end remote; the
// zero value where that is no address.
func (o *Options) clientAddr(remote string, get func(string) []string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := plainAddr(at.Addr())
	if !o.trustsAddr(addr) {
		return addr
	}
	standard, hasStandard := o.lastStranger(addr, get("Forwarded"), forwardedFor)
	other, hasOther := o.lastStranger(addr, get("X-Forwarded-For"), parseNode)
	switch {
	case hasStandard && hasOther && standard != other:
		return addr
	case hasStandard:
		return standard
	case hasOther:
		return other
	}
	return addr
}

// lastStranger goes through a list of addresses from its end, as long as they
// are trusted. What cannot be read ends the list. It reports false if there is
// none.
func (o *Options) lastStranger(addr netip.Addr, lines []string, parse func(string) (netip.Addr, bool)) (netip.Addr, bool) {
	found := false
	for i := len(lines) - 1; i >= 0; i-- {
		for line, more := lines[i], true; more; {
			at := strings.LastIndexByte(line, ',')
			a, ok := parse(strings.TrimSpace(line[at+1:]))
			if !ok {
				return addr, found
			}
			if addr, found = a, true; !o.trustsAddr(a) {
				return addr, true
			}
			if more = at >= 0; more {
				line = line[:at]
			}
		}
	}
	return addr, found
}

// forwardedFor reads the address of one element of Forwarded.
func forwardedFor(element string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(element, ";") {
		if name, value, _ := strings.Cut(pair, "="); strings.EqualFold(strings.TrimSpace(name), "for") {
			return parseNode(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return netip.Addr{}, false
}

// parseNode reads an address with or without a port, of IPv6 with or without
// brackets.
func parseNode(s string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return plainAddr(at.Addr()), true
	}
	if n := len(s); n > 2 && s[0] == '[' && s[n-1] == ']' {
		s = s[1 : n-1]
	}
	a, err := netip.ParseAddr(s)
	return plainAddr(a), err == nil
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func (o *Options) trustsAddr(ip netip.Addr) bool {
	if o == nil {
		return false
	}
	for _, p := range o.TrustedProxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
