package a2aserver

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// asked returns the URL that the card has for a request, or its error's text.
func asked(t *testing.T, o *Options, remote string, headers ...string) string {
	t.Helper()
	r := httptest.NewRequest("GET", cardPath, nil)
	r.Host, r.RemoteAddr = "inner:7275", remote
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	New(&fake{}, testCard(), o).ServeHTTP(w, r)
	if w.Code == http.StatusBadRequest {
		return w.Body.String()
	}
	return interfaces(t, w.Body.Bytes())[0].URL
}

func behindProxy() *Options {
	return &Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
}

// The address is the one that a trusted proxy reports, and the last in its
// list: the rest of the list may be the client's.
func TestForwardedAddress(t *testing.T) {
	for headers, want := range map[string]string{
		"":                                "http://inner:7275",
		"X-Forwarded-Proto: https":        "https://inner:7275",
		"X-Forwarded-Host: a.example.org": "http://a.example.org",
		"Forwarded: for=1.2.3.4":          "http://inner:7275",
		"Forwarded: host=a.example.org":   "http://a.example.org",
		`Forwarded: for="[2001:db8::1]:4711";Proto=HTTPS ; host="a.example.org:8443"`:      "https://a.example.org:8443",
		"Forwarded: host=evil.example.org, host=a.example.org;proto=https":                 "https://a.example.org",
		"Forwarded: host=evil.example.org|Forwarded: host=a.example.org":                   "http://a.example.org",
		"X-Forwarded-Host: evil.example.org, a.example.org|X-Forwarded-Proto: http, https": "https://a.example.org",
		"X-Forwarded-Host: a.example.org|X-Forwarded-Proto: https|X-Forwarded-Port: 443":   "https://a.example.org",
		"X-Forwarded-Host: a.example.org|X-Forwarded-Proto: https|X-Forwarded-Port: 8443":  "https://a.example.org:8443",
		"X-Forwarded-Host: a.example.org:1|X-Forwarded-Port: 2":                            "http://a.example.org:1",
		"X-Forwarded-Host: [2001:db8::1]|X-Forwarded-Port: 2":                              "http://[2001:db8::1]:2",
		"X-Forwarded-Host: a.example.org|X-Forwarded-Prefix: /agents/echo/":                "http://a.example.org/agents/echo",
		"X-Forwarded-Prefix: /": "http://inner:7275",
		"Forwarded: host=a.example.org;proto=https|X-Forwarded-Prefix: /x":                                      "https://a.example.org/x",
		"Forwarded: host=a.example.org;proto=https|X-Forwarded-Host: a.example.org|X-Forwarded-Proto: https":    "https://a.example.org",
		"Forwarded: host=evil.example.org;proto=https|X-Forwarded-Host: a.example.org|X-Forwarded-Proto: https": "http://inner:7275",
		"Forwarded: host=a.example.org|X-Forwarded-Host: evil.example.org":                                      "http://inner:7275",
		// A client sent the header of the other kind; the proxy's says nothing about
		// the address.
		"Forwarded: host=evil.example.org;proto=https|X-Forwarded-For: 203.0.113.9":                 "http://inner:7275",
		"Forwarded: for=203.0.113.9;host=evil.example.org;proto=https|X-Forwarded-For: 203.0.113.9": "http://inner:7275",
		"Forwarded: for=203.0.113.9|X-Forwarded-Host: evil.example.org":                             "http://inner:7275",
	} {
		var lines []string
		if headers != "" {
			lines = strings.Split(headers, "|")
		}
		for _, remote := range []string{"10.1.2.3:4", "[::ffff:10.1.2.3]:4", "[fd00::1]:4"} {
			if got := asked(t, behindProxy(), remote, lines...); got != want {
				t.Errorf("%s from %s: %s, want %s", headers, remote, got, want)
			}
		}
		// Other addresses are not trusted, and none is if no proxy is trusted.
		for _, remote := range []string{"11.1.2.3:4", "[fe80::1%eth0]:4", "[::1]:4", "@", "", "10.1.2.3"} {
			if got := asked(t, behindProxy(), remote, lines...); got != "http://inner:7275" {
				t.Errorf("%s from %s: %s", headers, remote, got)
			}
		}
		if got := asked(t, nil, "10.1.2.3:4", lines...); got != "http://inner:7275" {
			t.Errorf("%s without trust: %s", headers, got)
		}
		fixed := behindProxy()
		fixed.PublicURL = "https://public.example.org"
		if got := asked(t, fixed, "10.1.2.3:4", lines...); got != fixed.PublicURL {
			t.Errorf("%s with a public URL: %s", headers, got)
		}
	}
}

// Text that cannot be part of an address is refused, as it is in a Host header.
func TestForwardedAddressIsChecked(t *testing.T) {
	for header, values := range map[string][]string{
		"X-Forwarded-Host":   {"user@host", "a/b", "a b", "h\"><script>", "host:", "[::1", "h:65536", "[::1]:0", strings.Repeat("x", 300), "a\x00"},
		"X-Forwarded-Proto":  {"javascript", "file", "https://x", "ht tp"},
		"X-Forwarded-Port":   {"x", "65536", "0", "-1", "+80", "80/x"},
		"X-Forwarded-Prefix": {"x", "//evil.example.org", "/a/../b", "/a//b", "/a?b", "/a%2e", "/a b", "/" + strings.Repeat("x", 300), `/a"b`},
		"Forwarded":          {"host=a/b", "proto=gopher", `host="a@b"`, "host=_hidden/;proto=https", "host=", `host="a,host=evil.example.org;x=b"`},
	} {
		for _, v := range values {
			if got := asked(t, behindProxy(), "10.0.0.1:1", header+": "+v); !strings.Contains(got, header) || !strings.Contains(got, "address") {
				t.Errorf("%s: %s: %s", header, v, got)
			}
			if got := asked(t, behindProxy(), "9.0.0.1:1", header+": "+v); got != "http://inner:7275" {
				t.Errorf("%s: %s, from anybody: %s", header, v, got)
			}
		}
	}
}

// A card whose address may come from a client is not stored in shared caches.
func TestCardsBehindProxiesAreNotShared(t *testing.T) {
	fixed := behindProxy()
	fixed.PublicURL = "https://public.example.org"
	for _, tt := range []struct {
		o            *Options
		remote, want string
	}{
		{behindProxy(), "10.0.0.1:1", "private, max-age=300"},
		{behindProxy(), "9.0.0.1:1", "public, max-age=300"},
		{fixed, "10.0.0.1:1", "public, max-age=300"},
		{nil, "10.0.0.1:1", "public, max-age=300"},
	} {
		r := httptest.NewRequest("GET", cardPath, nil)
		r.RemoteAddr = tt.remote
		w := httptest.NewRecorder()
		New(&fake{}, testCard(), tt.o).ServeHTTP(w, r)
		if got := w.Header().Get("Cache-Control"); got != tt.want {
			t.Errorf("from %s: %q, want %q", tt.remote, got, tt.want)
		}
	}
}

// A call over gRPC has its address from the authority, or from a trusted proxy.
func TestForwardedAuthority(t *testing.T) {
	for _, tt := range []struct {
		remote string
		md     metadata.MD
		want   string
	}{
		{"1.2.3.4:5", metadata.Pairs(":authority", "a:1"), "http://a:1"},
		{"1.2.3.4:5", metadata.Pairs(":authority", "a:1", "forwarded", "host=evil;proto=https"), "http://a:1"},
		{"10.0.0.1:5", metadata.Pairs(":authority", "a:1", "forwarded", "host=b;proto=https"), "https://b"},
		{"10.0.0.1:5", metadata.Pairs(":authority", "a:1", "x-forwarded-proto", "https"), "https://a:1"},
		{"10.0.0.1:5", metadata.Pairs(":authority", "a:1", "x-forwarded-proto", "ftp"), ""},
		{"10.0.0.1:5", metadata.Pairs(":authority", "a/b"), ""},
		{"10.0.0.1:5", nil, ""},
	} {
		addr, err := net.ResolveTCPAddr("tcp", tt.remote)
		if err != nil {
			t.Fatal(err)
		}
		ctx := metadata.NewIncomingContext(peer.NewContext(context.Background(), &peer.Peer{Addr: addr}), tt.md)
		q := ofGRPC(ctx, 0)
		if got := New(&fake{}, testCard(), behindProxy()).grpcBaseURL(&q); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.md, got, tt.want)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("for=1.2.3.4;host=a;proto=https", "b, c", "https", "1", "/x")
	f.Fuzz(func(t *testing.T, standard, host, proto, port, prefix string) {
		h := http.Header{"Forwarded": {standard}, "X-Forwarded-Host": {host}, "X-Forwarded-Proto": {proto}, "X-Forwarded-Port": {port}, "X-Forwarded-Prefix": {prefix}}
		at := address{scheme: "http", host: "inner"}
		if New(&fake{}, testCard(), behindProxy()).forwarded(&at, "10.0.0.1:1", h) != nil {
			return
		}
		if !at.valid() || !validPrefix(at.prefix) {
			t.Errorf("%+v", at)
		}
	})
}
