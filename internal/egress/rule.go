package egress

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// Rule names hosts, by name or by address.
type Rule struct {
	text   string
	name   string       // a name; "" if the rule has none
	self   bool         // the name itself
	below  bool         // all names below it
	any    bool         // every host
	prefix netip.Prefix // valid if the rule is by address
	port   uint16       // 0 is any
	plain  bool         // http, not only https
}

// ParseRule reads a rule:
//
//	hooks.example.com        the name
//	*.example.com            all names below it
//	.example.com             both
//	*                        every host, by name or by address
//	10.1.2.3, 10.0.0.0/8     addresses
//	fd00::1, fd00::/8
//
// each also with a port: example.com:8443, 10.0.0.0/8:8443, [fd00::/8]:8443. An http://
// in front allows plain http as well; in a rule that denies, it has no effect. Names
// are ASCII, in any case.
func ParseRule(s string) (Rule, error) {
	r := Rule{text: s}
	rest := strings.ToLower(strings.TrimSpace(s))
	if after, ok := strings.CutPrefix(rest, "http://"); ok {
		r.plain, rest = true, after
	} else {
		rest = strings.TrimPrefix(rest, "https://")
	}
	if r.readHost(rest) {
		return r, nil
	}
	at := strings.LastIndexByte(rest, ':')
	if at < 0 {
		return Rule{}, badRule(s)
	}
	port, err := strconv.ParseUint(rest[at+1:], 10, 16)
	if err != nil || port == 0 {
		return Rule{}, badRule(s)
	}
	r.port = uint16(port)
	if !r.readHost(rest[:at]) {
		return Rule{}, badRule(s)
	}
	return r, nil
}

func badRule(s string) error {
	return errors.New("rule " + strconv.Quote(s) + " is neither a name (example.com, *.example.com) nor an address (10.0.0.0/8)," +
		" with a port after a colon or without")
}

// readHost reads the host of a rule, and reports whether it is valid.
func (r *Rule) readHost(s string) bool {
	if in, ok := strings.CutPrefix(s, "["); ok {
		if s, ok = strings.CutSuffix(in, "]"); !ok {
			return false
		}
		return r.readAddr(s) && r.prefix.Addr().Is6()
	}
	if s == "*" {
		r.any = true
		return true
	}
	if r.readAddr(s) {
		return true
	}
	name := s
	switch {
	case strings.HasPrefix(s, "*."):
		r.below, name = true, s[2:]
	case strings.HasPrefix(s, "."):
		r.below, r.self, name = true, true, s[1:]
	default:
		r.self = true
	}
	h, err := parseHost(name, false)
	if err != nil || h.addr.IsValid() {
		return false
	}
	r.name = name
	return true
}

func (r *Rule) readAddr(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		r.prefix = netip.PrefixFrom(a, a.BitLen())
		return true
	}
	p, err := netip.ParsePrefix(s)
	// A prefix with bits beyond its length is a typing mistake; one of mapped addresses
	// would match nothing.
	if err != nil || p != p.Masked() || p.Addr().Is4In6() {
		return false
	}
	r.prefix = p
	return true
}

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// ofName reports whether the rule covers this host by its name.
func (r *Rule) ofName(h host, port uint16) bool {
	if r.port != 0 && r.port != port {
		return false
	}
	return r.any || r.self && h.name == r.name || r.below && strings.HasSuffix(h.name, "."+r.name)
}

// ofAddr reports whether the rule covers this address.
func (r *Rule) ofAddr(a netip.Addr, port uint16) bool {
	return (r.port == 0 || r.port == port) && r.prefix.IsValid() && r.prefix.Contains(a)
}

// of reports whether the rule covers this target as it is written.
func (r *Rule) of(t target) bool {
	return r.ofName(t.host, t.port) || t.addr.IsValid() && r.ofAddr(t.addr, t.port)
}
