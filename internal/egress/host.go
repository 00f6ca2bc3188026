package egress

import (
	"net/netip"
	"strings"
)

// host is the host of a URL: a name in lower case, or an address in digits.
type host struct {
	name string
	addr netip.Addr // valid if the host is an address; then name is its text
}

// parseHost reads a host as net/url returns it, without brackets. It refuses a host
// that one program takes for a name and another for an address, such as 127.1 or
// 0x7f000001, and one that needs a translation: the name that is judged is the name
// that is looked up, byte for byte.
func parseHost(s string, bracketed bool) (host, error) {
	if s == "" {
		return host{}, refuse("has no host")
	}
	if len(s) > 253 {
		return host{}, refuse("has a host of more than 253 bytes")
	}
	if bracketed {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil || !a.Is6():
			return host{}, refuse("has brackets around something that is not an IPv6 address")
		case a.Zone() != "":
			return host{}, refuse("has an address with a zone")
		}
		a = a.Unmap()
		return host{a.String(), a}, nil
	}
	if strings.HasSuffix(s, ".") {
		return host{}, refuse("has a host that ends with a dot: leave the dot out")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) { // before ToLower, which makes a k of the Kelvin sign
		return host{}, refuse("has a host with letters outside ASCII: write the name in its xn-- form")
	}
	s = strings.ToLower(s)
	for label := range strings.SplitSeq(s, ".") {
		if err := checkLabel(label); err != nil {
			return host{}, err
		}
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	if !looksNumeric(last) {
		return host{name: s}, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return host{}, refuse("has an address in an unusual spelling: write it as four decimal numbers")
	}
	return host{s, a}, nil
}

// labelChars are the characters of a label; names of containers have underscores.
const labelChars = "abcdefghijklmnopqrstuvwxyz0123456789_-"

func checkLabel(s string) error {
	switch {
	case s == "" || len(s) > 63:
		return refuse("has a host with a label that is empty or longer than 63 bytes")
	case strings.Trim(s, labelChars) != "" || s[0] == '-' || s[len(s)-1] == '-':
		return refuse("has a host with a character that no host name has")
	}
	return nil
}

// looksNumeric reports whether a resolver or a browser takes a host with this last
// label for an IPv4 address: digits, or a number in hexadecimal.
func looksNumeric(label string) bool {
	hex, isHex := strings.CutPrefix(label, "0x")
	digits := "0123456789"
	if isHex {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// isLocal reports whether a name always means this machine (RFC 6761 §6.3).
func (h host) isLocal() bool {
	return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
}

// notPublic lists names that never lead to a public host, but into some network, and
// stand for all names below them.
var notPublic = []string{
	"internal", "local", "localdomain", "intranet", "private", "corp", "home", "lan", "home.arpa", "in-addr.arpa", "ip6.arpa",
	"invalid", "onion", "alt",
	// Names of cloud metadata that look public.
	"metadata.goog", "metadata.tencentyun.com", "metadata.platformequinix.com", "metadata.packet.net",
}

// judge refuses names that cannot be public. Their addresses would be refused too, but
// only when they are dialed, and finding that out would ask the name servers of the
// network.
func (h host) judge() error {
	switch {
	case h.isLocal():
		return refuse("leads to this machine")
	case !strings.Contains(h.name, "."):
		return refuse("has a host without a dot, which is not a public name")
	}
	for _, n := range notPublic {
		if h.name == n || strings.HasSuffix(h.name, "."+n) {
			return refuse("has a host below " + n + ", which is not of the public internet")
		}
	}
	return nil
}
