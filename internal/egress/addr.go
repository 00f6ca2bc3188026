package egress

import "net/netip"

// class is the kind of an address, in words for callers. The zero value means that
// anybody may be sent there.
type class string

const (
	public    class = ""
	loopback  class = "a loopback address"
	private   class = "a private address"
	linkLocal class = "a link-local address" // where clouds keep their metadata
	metadata  class = "an address of cloud metadata"
	multicast class = "a multicast address"
	embedding class = "an IPv6 address that stands for an IPv4 address"
	reserved  class = "an address that is not of the public internet"
)

// special lists the addresses that are not public, by prefix; the first that matches
// counts. It has the IANA registries of special-purpose addresses (RFC 6890 and what
// was registered since), and addresses that clouds use for metadata.
var special = []struct {
	prefix netip.Prefix
	class  class
}{
	{netip.MustParsePrefix("0.0.0.0/8"), reserved}, // this network; 0.0.0.0 is dialled as loopback
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("100.100.100.200/32"), metadata}, // Alibaba
	{netip.MustParsePrefix("100.64.0.0/10"), private},       // carrier-grade NAT
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata}, // Azure, though it looks public
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), reserved},    // protocol assignments, DS-Lite, Oracle's metadata
	{netip.MustParsePrefix("192.0.2.0/24"), reserved},    // documentation
	{netip.MustParsePrefix("192.88.99.0/24"), reserved},  // 6to4 relays
	{netip.MustParsePrefix("192.168.0.0/16"), private},   //
	{netip.MustParsePrefix("198.18.0.0/15"), reserved},   // benchmarks
	{netip.MustParsePrefix("198.51.100.0/24"), reserved}, // documentation
	{netip.MustParsePrefix("203.0.113.0/24"), reserved},  // documentation
	{netip.MustParsePrefix("224.0.0.0/4"), multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), reserved}, // with the broadcast address

	{netip.MustParsePrefix("::/128"), reserved}, // dialled as loopback
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("::/96"), embedding},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), embedding}, // IPv4-translated
	{netip.MustParsePrefix("64:ff9b:1::/48"), embedding},  // NAT64 within a network
	{netip.MustParsePrefix("2001::/32"), embedding},       // Teredo
	{netip.MustParsePrefix("2001::/23"), reserved},        // protocol assignments: benchmarks, ORCHID
	{netip.MustParsePrefix("2001:db8::/32"), reserved},    // documentation
	{netip.MustParsePrefix("2002::/16"), embedding},       // 6to4
	{netip.MustParsePrefix("3fff::/20"), reserved},        // documentation
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata},    // Amazon
	{netip.MustParsePrefix("fd20:ce::/32"), metadata},     // Google
	{netip.MustParsePrefix("fd00:42::42/128"), metadata},  // Scaleway
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("fec0::/10"), private}, // site-local
	{netip.MustParsePrefix("ff00::/8"), multicast},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")     // all assigned IPv6 addresses
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // stands for public IPv4 hosts (RFC 6052 §3.1)
)

// classify returns the class of an address.
func classify(a netip.Addr) class {
	if a.Zone() != "" {
		return linkLocal // nothing else has one
	}
	a = a.Unmap()
	if v4, ok := throughNAT64(a); ok {
		// In networks with IPv6 only, every IPv4 host is reached this way.
		if classify(v4) == public {
			return public
		}
		return embedding
	}
	for i := range special {
		if special[i].prefix.Contains(a) {
			return special[i].class
		}
	}
	switch {
	case a.Is4():
		return public
	case isISATAP(a):
		return embedding
	case globalUnicast.Contains(a):
		return public
	}
	return reserved // not assigned yet, or to nobody: 100::/64, 5f00::/16
}

// throughNAT64 returns the IPv4 address behind a translator's well-known prefix.
func throughNAT64(a netip.Addr) (netip.Addr, bool) {
	if !nat64.Contains(a) {
		return netip.Addr{}, false
	}
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// isISATAP reports whether the interface of an IPv6 address is an IPv4 address (RFC
// 5214 §6.1), under any prefix.
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
