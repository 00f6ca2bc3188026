package a2aserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// getOverGRPC makes a call.
func getOverGRPC(t testing.TB, addr, authority string) error {
	t.Helper()
	o := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if authority != "" {
		o = append(o, grpc.WithAuthority(authority))
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, o...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.Invoke(t.Context(), "/"+dialect.GRPCService+"/GetTask", &pb.GetTaskRequest{Id: "t1"}, new(pb.Task))
}

// A connection has its slot until it is closed, whichever server it is for, and frees
// it however it ends.
func TestConnections(t *testing.T) {
	endings := map[string]func(*testing.T, net.Conn){
		"nothing said":  func(*testing.T, net.Conn) {},
		"half a header": func(_ *testing.T, c net.Conn) { _, _ = io.WriteString(c, "GET / HT") },
		"a request": func(t *testing.T, c net.Conn) {
			writeRequest(c, "GET /livez", "")
			_ = response(t, c).Body.Close()
		},
		"HTTP/2": func(t *testing.T, c net.Conn) { dialH2(t, c).ask("GET", "/livez", "", true) },
		"gRPC":   func(t *testing.T, c net.Conn) { dialH2(t, c).call("GetTask", &pb.GetTaskRequest{Id: "t1"}) },
		"nonsense": func(_ *testing.T, c net.Conn) {
			go io.Copy(io.Discard, c)
			_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense nonsense")
		},
	}
	for name, say := range endings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(agreeable{}, testCard(), &Options{Limits: Limits{Connections: 2}})
				p := NewPort(s)
				l := porttest.NewPipes()
				ended := make(chan error)
				go func() { ended <- p.Serve(l) }()
				one, two := l.Dial(), l.Dial()
				say(t, one)
				synctest.Wait()
				third := make(chan net.Conn, 1)
				go func() { third <- l.Dial() }()
				synctest.Wait()
				select {
				case <-third:
					t.Fatal("there was a place for a third")
				default:
				}
				one.Close()
				c := <-third
				writeRequest(c, "GET /livez", "")
				if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
					t.Errorf("the third: %v", err)
				}
				go l.Offer(c) // waits until the server ends
				synctest.Wait()
				_ = p.Close()
				if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
					t.Errorf("Serve: %v", err)
				}
				two.Close()
				c.Close()
				synctest.Wait()
				if open := p.port.Open(); open != (port.Open{Limit: 2}) {
					t.Errorf("%+v are open", open)
				}
			})
		})
	}
}

func TestConnectionsOfAnAddress(t *testing.T) {
	addr, s := limitedPort(t, agreeable{}, &Options{Limits: Limits{AddrConnections: 1}})
	_ = s
	one, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	writeRequest(one, "GET /livez", "")
	_ = response(t, one).Body.Close()
	for range 3 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second connection is open: %v", err)
		}
		c.Close()
	}
	one.Close()
	for getOverGRPC(t, addr, "") != nil { // as soon as the server has seen it
		if t.Context().Err() != nil {
			t.Fatal("there is no place again")
		}
	}

	// Clients behind a trusted proxy have no connections of their own, so the limit is
	// not for them.
	trusted, _ := limitedPort(t, agreeable{}, &Options{Limits: Limits{AddrConnections: 1}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	for range 5 {
		c, err := net.Dial("tcp", trusted)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		writeRequest(c, "GET /livez", "")
		_ = response(t, c).Body.Close()
	}
}

func TestClientAddr(t *testing.T) {
	at := ClientAddr([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
	for _, tt := range []struct{ remote, headers, want string }{
		{"192.0.2.1:99", "X-Forwarded-For: 203.0.113.9", "192.0.2.1"}, // not a trusted proxy
		{"10.0.0.1:99", "", "10.0.0.1"},
		{"10.0.0.1:99", "X-Forwarded-For: 203.0.113.9", "203.0.113.9"},
		{"[::ffff:10.0.0.1]:99", "X-Forwarded-For: 203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:99", "X-Forwarded-For: 1.2.3.4, 203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:99", "X-Forwarded-For: 1.2.3.4, 203.0.113.9, 10.9.9.9", "203.0.113.9"},
		{"10.0.0.1:99", "X-Forwarded-For: 1.2.3.4|X-Forwarded-For: 203.0.113.9|X-Forwarded-For: 10.9.9.9", "203.0.113.9"},
		{"10.0.0.1:99", "X-Forwarded-For: 203.0.113.9:4711", "203.0.113.9"},
		{"10.0.0.1:99", "X-Forwarded-For: 10.1.1.1, 10.2.2.2", "10.1.1.1"},
		{"10.0.0.1:99", "X-Forwarded-For: unknown", "10.0.0.1"},
		{"10.0.0.1:99", "X-Forwarded-For: 1.2.3.4, unknown, 10.2.2.2", "10.2.2.2"},
		{"[fd00::1]:99", "X-Forwarded-For: 2001:db8::1", "2001:db8::1"},
		{"10.0.0.1:99", `Forwarded: for="[2001:db8::1]:4711";proto=https`, "2001:db8::1"},
		{"10.0.0.1:99", `Forwarded: for=1.2.3.4, proto=https;For=203.0.113.9`, "203.0.113.9"},
		{"10.0.0.1:99", `Forwarded: for=_hidden`, "10.0.0.1"},
		{"10.0.0.1:99", `Forwarded: proto=https`, "10.0.0.1"},
		{"10.0.0.1:99", "Forwarded: for=203.0.113.9|X-Forwarded-For: 203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:99", "Forwarded: for=1.2.3.4|X-Forwarded-For: 203.0.113.9", "10.0.0.1"}, // one of them is a client's
		// A client sent the header of the other kind; the proxy's names no address.
		{"10.0.0.1:99", "Forwarded: for=_hidden|X-Forwarded-For: 1.2.3.4", "10.0.0.1"},
		{"10.0.0.1:99", "Forwarded: for=1.2.3.4|X-Forwarded-For: unknown", "10.0.0.1"},
		{"10.0.0.1:99", "Forwarded: for=1.2.3.4|X-Forwarded-Proto: https", "10.0.0.1"},
		{"10.0.0.1:99", "Forwarded: proto=https|X-Forwarded-For: 1.2.3.4", "10.0.0.1"},
		{"10.0.0.1:99", "X-Forwarded-For: 1.2.3.4, ", "10.0.0.1"},
		// The proxy quotes the Host of its client.
		{"10.0.0.1:99", `Forwarded: for=203.0.113.9;host="a,for=1.2.3.4;x=b"`, "10.0.0.1"},
		{"10.0.0.1:99", `Forwarded: for="1.2.3.4, for=203.0.113.9`, "203.0.113.9"},
		{"@", "X-Forwarded-For: 203.0.113.9", "@"},
	} {
		r := &http.Request{RemoteAddr: tt.remote, Header: http.Header{}}
		for line := range strings.SplitSeq(tt.headers, "|") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				r.Header.Add(name, value)
			}
		}
		if got := at(r); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.remote, tt.headers, got, tt.want)
		}
	}
	if a, b := port.Network(netip.MustParseAddr("2001:db8::1")), port.Network(netip.MustParseAddr("2001:db8::ffff:1")); a != b {
		t.Error("a network of IPv6 is one caller")
	}
	if a, b := port.Network(netip.MustParseAddr("192.0.2.1")), port.Network(netip.MustParseAddr("192.0.2.2")); a == b {
		t.Error("addresses of IPv4 are two callers")
	}
}

func FuzzClientAddr(f *testing.F) {
	f.Add("10.0.0.1:1", `for="[2001:db8::1]:1", for=_x;proto=https`, "1.2.3.4, 10.0.0.2")
	f.Add("10.0.0.1:1", `,,,;;for=`, ",")
	at := ClientAddr([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	f.Fuzz(func(t *testing.T, remote, standard, other string) {
		r := &http.Request{RemoteAddr: remote, Header: http.Header{"Forwarded": {standard}, "X-Forwarded-For": {other}}}
		got := at(r)
		if _, err := netip.ParseAddr(got); err != nil && got != remote {
			t.Fatalf("%q", got)
		}
		if p, err := netip.ParseAddrPort(remote); err == nil && !strings.HasPrefix(remote, "10.") && !p.Addr().Is4In6() && got != p.Addr().WithZone("").String() {
			t.Fatalf("a stranger at %q is taken for %q", remote, got)
		}
	})
}
