package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// world is a test's internet: names with the answers of their lookups in order, the
// last one for all later ones, and a server at every address.
type world struct {
	t       *testing.T
	answers map[string][]string // a name to lists of addresses, separated by spaces
	server  string              // host:port that every dial ends at
	open    func(netip.Addr) bool

	mu     sync.Mutex // protects the fields below
	asked  []string
	dialed []string
}

func (w *world) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	list := w.answers[strings.TrimSuffix(name, ".")]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(list) > 1 {
		w.answers[strings.TrimSuffix(name, ".")] = list[1:]
	}
	var addrs []netip.Addr
	for s := range strings.FieldsSeq(list[0]) {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

// dial fails the test unless the address is public and in digits.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		w.t.Errorf("dialled %q, which is no address", address)
		return nil, err
	}
	if !isGlobal(ap.Addr()) && (w.open == nil || !w.open(ap.Addr())) {
		w.t.Errorf("dialled %s", address)
		return nil, errors.New("forbidden")
	}
	if w.server == "" {
		return nil, errors.New("nobody listens")
	}
	return new(net.Dialer).DialContext(ctx, network, w.server)
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dialed
	w.dialed = nil
	return d
}

// newWorld has a TLS server for *.example.com at every public address.
func newWorld(t *testing.T, h http.HandlerFunc) (*world, *Policy, *http.Client) {
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	w := &world{t: t, answers: map[string][]string{}, server: srv.Listener.Addr().String()}
	p := &Policy{Resolver: w, Dial: w.dial}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	client := p.Client()
	client.Transport.(*judging).TLSClientConfig.RootCAs = roots
	t.Cleanup(client.CloseIdleConnections)
	return w, p, client
}

func TestHostileAnswersAreNeverDialled(t *testing.T) {
	for name, answers := range map[string]string{
		"loopback": "127.0.0.1", "loopback6": "::1", "mapped": "::ffff:127.0.0.1", "unspecified": "0.0.0.0", "unspecified6": "::",
		"ten": "10.0.0.1", "twelve": "172.16.5.4", "sixteen": "192.168.0.1", "cgnat": "100.64.1.1", "bench": "198.18.0.1", "bench6": "2001:2::1",
		"metadata": "169.254.169.254", "metadata6": "fd00:ec2::254", "google6": "fd20:ce::254", "azure": "168.63.129.16", "alibaba": "100.100.100.200",
		"ula": "fc00::1", "linklocal6": "fe80::1", "zone": "fe80::1%eth0", "globalzone": "2606:4700::1%eth0", "sitelocal": "fec0::1",
		"nat64": "64:ff9b::10.0.0.1", "nat64meta": "64:ff9b::a9fe:a9fe", "nat64own": "64:ff9b:1::808:808", "sixtofour": "2002:a00:1::1",
		"teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2", "isatap": "2606:4700::5efe:a00:1", "compatible": "::10.0.0.1", "translated": "::ffff:0:a00:1",
		"multicast": "224.0.0.1", "multicast6": "ff02::1", "broadcast": "255.255.255.255", "reserved": "250.1.1.1", "doc": "192.0.2.1 198.51.100.1 203.0.113.1",
		"doc6": "2001:db8::1 3fff::1", "discard": "100::1", "orchid": "2001:10::1 2001:20::1", "relay": "192.88.99.1", "assigned": "192.0.0.8",
		"srv6": "5f00::1", "all": "127.0.0.1 10.0.0.1 ::1 fe80::1 169.254.169.254",
	} {
		t.Run(name, func(t *testing.T) {
			w, _, client := newWorld(t, func(http.ResponseWriter, *http.Request) { t.Error("served") })
			w.answers["evil.example.com"] = []string{answers}
			_, err := client.Get("https://evil.example.com/")
			var r *Refused
			if !errors.As(err, &r) || strings.Contains(r.Reason, strings.Fields(answers)[0]) {
				t.Errorf("got %v, want it refused without the address", err)
			}
			if d := w.dials(); len(d) > 0 {
				t.Errorf("dialled %v", d)
			}
		})
	}
}

// TestHostileURLsAreNeverDialled: a caller that forgets Check is safe too. The name
// server says that everything is public.
func TestHostileURLsAreNeverDialled(t *testing.T) {
	w, _, client := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("served %s%s", r.Host, r.URL) })
	for _, raw := range hostile {
		req, err := http.NewRequest("GET", raw, nil)
		if err != nil {
			continue
		}
		if strings.HasPrefix(raw, "https://example.com/") { // the URL is hostile as text only
			continue
		}
		w.answers = map[string][]string{strings.ToLower(req.URL.Hostname()): {"8.8.8.8"}}
		res, err := client.Do(req)
		if err == nil {
			res.Body.Close()
			t.Errorf("%q: got %s", raw, res.Status)
		}
		if d := w.dials(); len(d) > 0 {
			t.Errorf("%q: dialled %v", raw, d)
		}
	}
}

func TestRebinding(t *testing.T) {
	w, _, client := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	// Each request has a connection of its own. Otherwise a server could close it while
	// the next request uses it, and that would be repeated.
	client.Transport.(*judging).DisableKeepAlives = true
	w.answers["evil.example.com"] = []string{"8.8.8.8", "127.0.0.1", "9.9.9.9 10.0.0.1", "::ffff:10.0.0.1", "1.1.1.1"}
	for i, want := range []string{"8.8.8.8:443", "", "9.9.9.9:443", "", "1.1.1.1:443"} {
		res, err := client.Get("https://evil.example.com/")
		if err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if (err == nil) != (want != "") {
			t.Errorf("request %d: %v", i, err)
		}
		if got := strings.Join(w.dials(), " "); got != want {
			t.Errorf("request %d dialled %q, want %q", i, got, want)
		}
	}
	if n := len(w.asked); n != 5 {
		t.Errorf("looked up %d times for 5 connections: %v", n, w.asked)
	}
}

func TestOnlyGoodAnswersAreDialled(t *testing.T) {
	w, p, _ := newWorld(t, nil)
	w.server = "" // so that every address is tried
	w.answers["mixed.example.com"] = []string{"10.0.0.1 8.8.8.8 127.0.0.1 ::ffff:8.8.8.8 8.8.4.4 ::1 2606:4700::1111 64:ff9b::808:808 1.1.1.1 9.9.9.9"}
	if _, err := p.DialContext(t.Context(), "tcp", "mixed.example.com:8443"); err == nil {
		t.Fatal("want an error")
	}
	want := "8.8.8.8:8443 [2606:4700::1111]:8443 8.8.4.4:8443 [64:ff9b::808:808]:8443"
	if got := strings.Join(w.dials(), " "); got != want {
		t.Errorf("dialled %s, want %s", got, want)
	}
}

func TestNamesOfStrangersAreRooted(t *testing.T) {
	w, p, _ := newWorld(t, nil)
	p.Allow = rules(t, "receiver", "*.internal")
	w.answers["receiver"], w.answers["a.internal"] = []string{"10.0.0.1"}, []string{"10.0.0.2"}
	w.open = netip.MustParsePrefix("10.0.0.0/8").Contains
	for _, a := range []string{"x.example.com:443", "Receiver:443", "a.internal:443"} {
		p.DialContext(t.Context(), "tcp", a)
	}
	if got := strings.Join(w.asked, " "); got != "x.example.com. receiver a.internal" {
		t.Errorf("asked for %s", got)
	}
	if got := strings.Join(w.dials(), " "); got != "10.0.0.1:443 10.0.0.2:443" {
		t.Errorf("dialled %s", got)
	}
}

// TestAllowedNameOpensNoMore: a name that an operator allows does not open loopback or
// metadata addresses.
func TestAllowedNameOpensNoMore(t *testing.T) {
	for _, answer := range []string{"127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "0.0.0.0", "168.63.129.16", "64:ff9b::7f00:1"} {
		w, p, _ := newWorld(t, nil)
		p.Allow, p.Loopback = rules(t, "receiver", "*"), true
		w.answers["receiver"] = []string{answer}
		var r *Refused
		if _, err := p.DialContext(t.Context(), "tcp", "receiver:443"); !errors.As(err, &r) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

func TestLocalhostIsNotLookedUp(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	defer srv.Close()
	w := &world{t: t, answers: map[string][]string{"localhost": {"8.8.8.8"}}}
	p := &Policy{Loopback: true, Resolver: w}
	client := p.Client()
	defer client.CloseIdleConnections()
	for _, name := range []string{"localhost", "agent.localhost", "127.0.0.1"} {
		host := strings.Replace(srv.Listener.Addr().String(), "127.0.0.1", name, 1)
		res, err := client.Get("http://" + host)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != host {
			t.Errorf("the server saw %s, want %s", body, host)
		}
	}
	if len(w.asked) > 0 {
		t.Errorf("looked up %v", w.asked)
	}
}

// TestHostAndServerName: dialling an address changes neither the server's name in TLS
// and HTTP nor the certificate that it needs.
func TestHostAndServerName(t *testing.T) {
	var seen string
	w, _, client := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.TLS.ServerName + " " + r.Host + " " + r.Proto })
	w.answers["www.example.com"], w.answers["other.example.org"] = []string{"8.8.8.8"}, []string{"8.8.8.8"}
	res, err := client.Get("https://www.example.com:8443/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if want := "www.example.com www.example.com:8443 HTTP/2.0"; seen != want {
		t.Errorf("got %s, want %s", seen, want)
	}
	if _, err := client.Get("https://other.example.org/"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate for another name: %v", err)
	}
}

func TestEnvironmentProxyIsIgnored(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	w, _, client := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	w.answers["www.example.com"] = []string{"8.8.8.8"}
	res, err := client.Get("https://www.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

func TestRefusalsAreLogged(t *testing.T) {
	var out strings.Builder
	w, p, _ := newWorld(t, nil)
	p.Logger = slog.New(slog.NewTextHandler(&out, nil))
	w.answers["evil.example.com"] = []string{"10.1.2.3"}
	p.Check("https://127.0.0.1/secret?token=secret")
	p.DialContext(t.Context(), "tcp", "evil.example.com:443")
	for _, want := range []string{"host=127.0.0.1", "host=evil.example.com", "address=10.1.2.3", "loopback"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("the path was logged:\n%s", out.String())
	}
}
