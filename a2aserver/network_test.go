package a2aserver

import (
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// TestNetworksCountAsOneAddress: every count by address uses the first 64 bits of IPv6,
// and a whole IPv4 address in whichever form the socket writes it.
func TestNetworksCountAsOneAddress(t *testing.T) {
	s := New(&fake{}, testCard(), nil)
	for remote, want := range map[string]string{
		"[2001:db8:1:2::1]:1": "2001:db8:1:2::/64", "[2001:db8:1:2:ffff::9]:2": "2001:db8:1:2::/64", "[2001:db8:1:3::1]:1": "2001:db8:1:3::/64",
		"192.0.2.1:1": "192.0.2.1/32", "[::ffff:192.0.2.1]:2": "192.0.2.1/32", "[::ffff:192.0.2.2]:2": "192.0.2.2/32",
		"[fe80::1%eth0]:1": "fe80::/64", "[fe80::2%eth1]:1": "fe80::/64",
	} {
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote))
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = at.String()
		q := ofHTTP(r, a2a.BindingJSONRPC)
		over := ofGRPC(peer.NewContext(metadata.NewIncomingContext(context.Background(), metadata.MD{}), &peer.Peer{Addr: at}), 0)
		for what, got := range map[string]netip.Prefix{
			"rates": s.keyOf(context.Background(), &q).from, "rates over gRPC": s.keyOf(context.Background(), &over).from,
			"strangers": s.strangerAt(&q), "strangers over gRPC": s.strangerAt(&over),
		} {
			if got.String() != want {
				t.Errorf("%s: %s counts %s, want %s", remote, what, got, want)
			}
		}
	}
}
