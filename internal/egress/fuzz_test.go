package egress

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// isGlobal reports whether an address is public. It is written with numbers,
// independently of the table.
func isGlobal(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	b := a.As16()
	zero := func(from, to int) bool {
		for _, x := range b[from:to] {
			if x != 0 {
				return false
			}
		}
		return true
	}
	v4 := func(o []byte) bool {
		x, y, z := o[0], o[1], o[2]
		switch {
		case x == 0, x == 10, x == 127, x >= 224:
		case x == 100 && y >= 64 && y < 128:
		case x == 168 && y == 63 && z == 129 && o[3] == 16:
		case x == 169 && y == 254:
		case x == 172 && y >= 16 && y < 32:
		case x == 192 && (y == 168 || y == 0 && (z == 0 || z == 2) || y == 88 && z == 99):
		case x == 198 && (y == 18 || y == 19 || y == 51 && z == 100):
		case x == 203 && y == 0 && z == 113:
		default:
			return true
		}
		return false
	}
	switch {
	case zero(0, 10) && b[10] == 0xff && b[11] == 0xff: // IPv4, mapped or not
		return v4(b[12:])
	case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b && zero(4, 12):
		return v4(b[12:])
	case b[0]>>5 != 1: // 2000::/3
		return false
	case b[0] == 0x20 && (b[1] == 1 && b[2] < 2 || b[1] == 1 && b[2] == 0x0d && b[3] == 0xb8 || b[1] == 2):
		return false
	case b[0] == 0x3f && b[1] == 0xff && b[2] < 0x10:
		return false
	case (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return false
	}
	return true
}

// embeddings are the ways to write an IPv4 address as one of IPv6.
func embeddings(a netip.Addr) map[string]netip.Addr {
	o := a.As4()
	at := func(prefix string, pos int) netip.Addr {
		b := netip.MustParseAddr(prefix).As16()
		copy(b[pos:], o[:])
		return netip.AddrFrom16(b)
	}
	teredo := netip.MustParseAddr("2001::").As16()
	for i := range o {
		teredo[12+i] = ^o[i]
	}
	return map[string]netip.Addr{
		"mapped": at("::ffff:0:0", 12), "nat64": at("64:ff9b::", 12),
		"compatible": at("::", 12), "translated": at("::ffff:0:0:0", 12), "6to4": at("2002::", 2), "own nat64": at("64:ff9b:1::", 12),
		"isatap": at("2606:4700::5efe:0:0", 12), "isatap global": at("2606:4700::200:5efe:0:0", 12), "teredo": netip.AddrFrom16(teredo), "teredo server": at("2001::", 4),
	}
}

func FuzzAddr(f *testing.F) {
	for _, s := range []string{
		"8.8.8.8", "127.0.0.1", "10.0.0.1", "169.254.169.254", "100.63.255.255", "100.64.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "224.0.0.0", "168.63.129.16", "::", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2001:200::", "2001:1ff:ffff::",
		"2001:db7:ffff::", "2001:db9::", "2002::", "2003::", "1fff::", "3ffe::", "3fff:1000::", "4000::", "fe80::1", "2606:4700::200:5efe:1:1", "fd00:ec2::254",
	} {
		b := netip.MustParseAddr(s).As16()
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		tg := target{host: host{name: "a.example.com"}, port: 443}
		passes := func(a netip.Addr) bool { return new(Policy).checkAddr(tg, a) == nil }
		if got := passes(a); got != isGlobal(a) {
			t.Errorf("%s: passes: %v, global: %v", a, got, isGlobal(a))
		}
		again, err := netip.ParseAddr(a.String())
		if err != nil || passes(again) != passes(a) || passes(a.Unmap()) != passes(a) {
			t.Errorf("%s is judged in another way when it is written down", a)
		}
		if ip := net.IP(a.AsSlice()); passes(a) && (!ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()) {
			t.Errorf("%s passes", a)
		}
		if _, err := new(Policy).Check("https://" + net.JoinHostPort(a.String(), "443")); (err == nil) != passes(a) {
			t.Errorf("%s: Check says %v", a, err)
		}
		if a = a.Unmap(); !a.Is4() {
			return
		}
		for way, e := range embeddings(a) {
			if want := passes(a) && (way == "mapped" || way == "nat64"); passes(e) != want {
				t.Errorf("%s as %s (%s) passes: %v", a, way, e, !want)
			}
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, raw := range hostile {
		f.Add(raw)
	}
	f.Add("https://example.com:8443/a?b")
	f.Add("http://localhost:1/")
	f.Add("https://[2606:4700::1111]/")
	f.Fuzz(func(t *testing.T, raw string) {
		for _, p := range []*Policy{nil, {Loopback: true}} {
			u, err := p.Check(raw)
			if err != nil {
				if _, ok := err.(*Refused); !ok {
					t.Errorf("%q: %T", raw, err)
				}
				continue
			}
			// A transport reads from the URL exactly the request that was checked.
			again, err := url.Parse(u.String())
			if err != nil || again.Host != u.Host || again.User != nil || strings.ContainsAny(u.Host, " %@\\/#?") {
				t.Fatalf("%q: %v, %v", raw, again, err)
			}
			port := u.Port()
			if port == "" {
				port = "443"
			}
			dialled, err := parseTarget(u.Hostname(), strings.HasPrefix(u.Host, "["), port)
			if err != nil || dialled.name != u.Hostname() {
				t.Fatalf("%q: the URL says %q, a dialer %q: %v", raw, u.Hostname(), dialled.name, err)
			}
			a, err := netip.ParseAddr(u.Hostname())
			if (err == nil) != dialled.addr.IsValid() || err == nil && a.Unmap() != dialled.addr {
				t.Fatalf("%q: %s is an address to one only", raw, u.Hostname())
			}
			if err == nil && !isGlobal(a) && !(p != nil && a.IsLoopback()) {
				t.Errorf("%q passes", raw)
			}
			if u.Scheme != "https" && !(p != nil && (a.IsLoopback() || dialled.isLocal())) {
				t.Errorf("%q passes", raw)
			}
		}
	})
}
