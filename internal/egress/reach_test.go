package egress

import (
	"net/netip"
	"net/url"
	"testing"
)

func TestReach(t *testing.T) {
	for a, want := range map[string]Reach{
		"127.0.0.1": Anywhere, "::1": Anywhere, "::ffff:127.0.0.1": Anywhere,
		"10.0.0.1": Network, "100.64.0.1": Network, "fd00::1": Network, "169.254.1.1": Network, "198.18.0.1": Network,
		"fe80::1%eth0": Network, "fec0::1": Network, "fd00::200:5efe:a00:1": Network,
		"8.8.8.8": Internet, "2606:4700::1111": Internet, "64:ff9b::808:808": Internet,
		// An IPv4 address inside an address says nothing about where that is.
		"2606:4700::200:5efe:a00:1": Internet, "2606:4700::5efe:7f00:1": Internet, "2002:808:808::1": Internet, "2002:a00:1::1": Internet,
		"2001:0:4136:e378:8000:63bf:3fff:fdd2": Internet, "64:ff9b::a00:1": Internet, "64:ff9b:1::808:808": Internet, "::8.8.8.8": Internet,
	} {
		if got := ReachOf(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %d, want %d", a, got, want)
		}
	}
	for raw, want := range map[string]Reach{
		"http://127.0.0.1:1": Anywhere, "http://[::1]": Anywhere, "http://localhost": Anywhere, "http://a.localhost": Anywhere,
		"http://10.0.0.1": Network, "http://db": Network, "http://db.internal": Network,
		"https://example.com": Internet, "http://8.8.8.8": Internet, "http://0x7f.1": Internet,
	} {
		u, _ := url.Parse(raw)
		if got := ReachOfURL(u); got != want {
			t.Errorf("%s: %d, want %d", raw, got, want)
		}
	}
}
