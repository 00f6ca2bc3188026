package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

// internet is what a client of a test sees: names with their addresses, the next
// one for each look-up and the last one for ever, and one server at all of them.
type internet struct {
	t      *testing.T
	names  map[string][]string
	server *httptest.Server
	card   map[string]string // of a host, what its card names
	to     map[string]string // of a host, where it redirects

	mu     sync.Mutex // protects the fields below
	dialed []string
	asked  []string // hosts, of calls
}

func newInternet(t *testing.T) *internet {
	w := &internet{t: t, names: map[string][]string{}, card: map[string]string{}, to: map[string]string{}}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

func (w *internet) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if to := w.to[r.Host]; to != "" && (r.Method == http.MethodPost || w.card[r.Host] == "") {
		http.Redirect(rw, r, to, http.StatusTemporaryRedirect)
		return
	}
	if r.Method == http.MethodGet {
		at := w.card[r.Host]
		if at == "" {
			at = "http://" + r.Host
		}
		fmt.Fprintf(rw, `{"name":"a","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{}}`, at)
		return
	}
	w.mu.Lock()
	w.asked = append(w.asked, r.Host)
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	fmt.Fprint(rw, `{"jsonrpc":"2.0","id":1,"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`)
}

// next returns the address that a name has now.
func (w *internet) next(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name = strings.TrimSuffix(name, ".")
	list := w.names[name]
	if len(list) == 0 {
		return "", false
	}
	if len(list) > 1 {
		w.names[name] = list[1:]
	}
	return list[0], true
}

func (w *internet) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	a, ok := w.next(name)
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(a)}, nil
}

func (w *internet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, _ := net.SplitHostPort(address)
	if a, ok := w.next(host); ok {
		host = a
	}
	ap, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	w.mu.Lock()
	w.dialed = append(w.dialed, ap.String())
	w.mu.Unlock()
	c, err := new(net.Dialer).DialContext(ctx, network, w.server.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	return &faraway{c, net.TCPAddrFromAddrPort(ap)}, nil
}

// faraway is a connection whose other end seems to be elsewhere.
type faraway struct {
	net.Conn
	at net.Addr
}

func (f *faraway) RemoteAddr() net.Addr { return f.at }

// options returns those of a client in this internet.
func (w *internet) options() *Options {
	t := &http.Transport{DialContext: w.dial}
	w.t.Cleanup(t.CloseIdleConnections)
	return &Options{HTTPClient: &http.Client{Transport: t}, Retries: -1, lookup: w}
}

// call dials an agent, asks it for a task, and returns which host was asked.
func (w *internet) call(ref string, o *Options) (string, error) {
	c, err := Dial(w.t.Context(), ref, o)
	if err != nil {
		return "", err
	}
	defer c.http.CloseIdleConnections()
	_, err = c.GetTask(w.t.Context(), &a2a.GetTaskRequest{ID: "t"})
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := strings.Join(w.asked, " ")
	w.asked = nil
	return asked, err
}

func TestWhereACardMayLead(t *testing.T) {
	tests := []struct{ from, to, want string }{ // want: "" called, or a part of the error
		{"http://8.8.8.8", "http://9.9.9.9", ""},
		{"http://8.8.8.8", "http://8.8.8.8:8080/a2a", ""},
		{"http://8.8.8.8", "https://9.9.9.9:8443", "TLS"}, // tried: nothing speaks TLS there
		{"http://8.8.8.8", "http://127.0.0.1:9999", "a loopback address"},
		{"http://8.8.8.8", "http://localhost", "this machine"},
		{"http://8.8.8.8", "http://a.localhost", "this machine"},
		{"http://8.8.8.8", "http://10.0.0.1", "a private address"},
		{"http://8.8.8.8", "http://192.168.1.1", "a private address"},
		{"http://8.8.8.8", "http://169.254.169.254", "a link-local address"},
		{"http://8.8.8.8", "http://[::1]", "a loopback address"},
		{"http://8.8.8.8", "http://[::ffff:10.0.0.1]", "a private address"},
		{"http://8.8.8.8", "http://[fd00::1]", "a private address"},
		{"http://8.8.8.8", "http://127.1", "unusual spelling"},
		{"http://8.8.8.8", "http://0x7f000001", "unusual spelling"},
		{"http://8.8.8.8", "http://metadata.google.internal", "below internal"},
		{"http://8.8.8.8", "http://db", "without a dot"},
		{"http://8.8.8.8", "http://in.example", "does not lead to a public address"},
		{"http://8.8.8.8", "http://lo.example", "does not lead to a public address"},
		{"http://8.8.8.8", "http://out.example", ""},
		{"http://8.8.8.8", "http://8.8.8.8:6379", ""},
		{"http://out.example", "http://out.example:8080", ""},
		{"http://out.example", "http://in.example", "does not lead to a public address"},
		// from a private network
		{"http://10.0.0.5", "http://10.0.0.6", ""},
		{"http://10.0.0.5", "http://8.8.8.8", ""},
		{"http://10.0.0.5", "http://in.example", ""},
		{"http://10.0.0.5", "http://db", ""},
		{"http://10.0.0.5", "http://127.0.0.1", "a loopback address"},
		{"http://10.0.0.5", "http://localhost:1", "named by a document from a private network"},
		{"http://10.0.0.5", "http://169.254.169.254", "a link-local address"},
		{"http://10.0.0.5", "http://lo.example", "does not lead to"},
		{"http://in.example", "http://in.example:8080", ""}, // a public name that is private from inside
		{"http://in.example", "http://in.example", ""},
		{"http://in.example", "http://10.0.0.9", ""},
		{"http://198.18.0.4", "http://198.18.0.5", ""}, // made up by a VPN
		// from this machine
		{"http://127.0.0.1:7", "http://10.0.0.1", ""},
		{"http://127.0.0.1:7", "http://169.254.1.1", ""},
		{"http://127.0.0.1:7", "http://127.0.0.1:8", ""},
		{"http://lo.example", "http://127.0.0.1:8", ""},
		{"http://169.254.1.1", "http://169.254.1.1:8080", ""},
	}
	for _, tt := range tests {
		t.Run(tt.from+" to "+tt.to, func(t *testing.T) {
			w := newInternet(t)
			w.names = map[string][]string{"out.example": {"9.9.9.9"}, "in.example": {"10.0.0.7"}, "lo.example": {"127.0.0.1"}, "db": {"10.0.0.8"}, "localhost": {"127.0.0.1"}}
			u, _ := url.Parse(tt.from)
			w.card[u.Host] = tt.to
			asked, err := w.call(tt.from, w.options())
			to, _ := url.Parse(tt.to)
			switch {
			case tt.want == "TLS":
				if n := len(w.dialed); err == nil || n < 2 || w.dialed[1] != to.Host {
					t.Errorf("dialled %v: %v", w.dialed, err)
				}
			case tt.want == "" && (err != nil || asked != to.Host):
				t.Errorf("asked %q: %v", asked, err)
			case tt.want != "":
				var a *AddressError
				if !errors.As(err, &a) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "AnyAddress") {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if len(w.dialed) != 1 || asked != "" {
					t.Errorf("dialled %v, asked %q", w.dialed, asked)
				}
				o := w.options()
				o.AnyAddress = true
				if asked, err := w.call(tt.from, o); strings.Contains(tt.want, "spelling") {
					// A dialler would make sense of it.
				} else if err != nil && !strings.Contains(err.Error(), "no such host") || err == nil && asked != to.Host {
					t.Errorf("with AnyAddress %q: %v", asked, err)
				}
			}
		})
	}
}

// TestCardsDoNotRebind: a name that leads to a public address while the card is
// looked at leads nowhere when it has become a private one.
func TestCardsDoNotRebind(t *testing.T) {
	w := newInternet(t)
	w.names["evil.example"] = []string{"8.8.8.8", "127.0.0.1"}
	w.card["evil.example"] = "http://evil.example:8080"
	asked, err := w.call("http://evil.example", w.options())
	var a *AddressError
	if !errors.As(err, &a) || asked != "" || !slices.Equal(w.dialed, []string{"8.8.8.8:80"}) {
		t.Errorf("asked %q, dialled %v: %v", asked, w.dialed, err)
	}
}

// TestConnectionsAreNotShared: a connection that the caller's own word made is
// not there for those who may not make it.
func TestConnectionsAreNotShared(t *testing.T) {
	w := newInternet(t)
	w.names["in.example"] = []string{"10.0.0.7"}
	w.card["8.8.8.8"] = "http://in.example"
	o := w.options()
	r := NewResolver(o)
	c, err := r.Dial(t.Context(), "http://in.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	c, err = r.Dial(t.Context(), "http://8.8.8.8")
	if err != nil {
		t.Fatal(err)
	}
	var a *AddressError
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); !errors.As(err, &a) {
		t.Errorf("got %v", err)
	}
}

func TestWhereARedirectMayLead(t *testing.T) {
	tests := []struct{ from, to, want string }{
		{"8.8.8.8", "http://9.9.9.9/x.json", ""},
		{"8.8.8.8", "http://10.0.0.1/x.json", "a private address"},
		{"8.8.8.8", "http://127.0.0.1/x.json", "a loopback address"},
		{"8.8.8.8", "http://in.example/x.json", "does not lead to a public address"},
		{"10.0.0.5", "http://10.0.0.1/x.json", ""},
		{"10.0.0.5", "http://127.0.0.1/x.json", "a loopback address"},
		{"127.0.0.1", "http://10.0.0.1/x.json", ""},
	}
	for _, tt := range tests {
		w := newInternet(t)
		w.names["in.example"] = []string{"10.0.0.7"}
		w.to[tt.from] = tt.to
		check := func(what string, err error) {
			t.Helper()
			var a *AddressError
			if tt.want == "" && err != nil || tt.want != "" && (!errors.As(err, &a) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s at %s to %s: %v", what, tt.from, tt.to, err)
			}
			if tt.want != "" && len(w.dialed) > 1 {
				t.Errorf("%s at %s to %s: dialled %v", what, tt.from, tt.to, w.dialed)
			}
			w.dialed = nil
		}
		o := w.options()
		_, err := Resolve(t.Context(), "http://"+tt.from+"/c.json", o)
		check("card", err)

		o.HTTPClient.CloseIdleConnections()
		c, err := New(cardAt("http://"+tt.from, a2a.BindingJSONRPC), o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"})
		check("call", err)
	}
}

// TestRedirectedCardsKeepTheirSource: a card that a public host handed out by way
// of a redirect has no more to say than one that came from there.
func TestRedirectedCardsKeepTheirSource(t *testing.T) {
	w := newInternet(t)
	w.to["10.0.0.5"] = "http://8.8.8.8/x.json"
	w.card["8.8.8.8"] = "http://10.0.0.1"
	var a *AddressError
	if asked, err := w.call("http://10.0.0.5/c.json", w.options()); !errors.As(err, &a) || asked != "" {
		t.Errorf("asked %q: %v", asked, err)
	}
}

// TestAnswersReachNoFurther: what came by way of a public host, and then from a
// private one, still leads to public ones only.
func TestAnswersReachNoFurther(t *testing.T) {
	u, _ := url.Parse("https://agent.example")
	j := new(journey)
	j.from.Store(&source{reach: egress.Internet, secure: true})
	j.arrived(&url.URL{Scheme: "http", Host: u.Host}, egress.Network)
	if got := j.from.Load(); got.reach != egress.Internet || !got.secure {
		t.Errorf("got %+v", got)
	}
}

// TestCachedCardsKeepTheirSource: the same for one that was kept.
func TestCachedCardsKeepTheirSource(t *testing.T) {
	w := newInternet(t)
	w.card["8.8.8.8"] = "http://10.0.0.1"
	h := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=1000")
		h.ServeHTTP(rw, r)
	})
	r := NewResolver(w.options())
	for range 2 {
		var a *AddressError
		if _, err := r.Dial(t.Context(), "http://8.8.8.8"); !errors.As(err, &a) {
			t.Errorf("got %v", err)
		}
	}
	if len(w.dialed) != 1 {
		t.Errorf("dialled %v", w.dialed)
	}
}

// TestOtherInterfacesStandIn: an interface that a card may not name is left out.
func TestOtherInterfacesStandIn(t *testing.T) {
	card := cardAt("http://10.0.0.1", a2a.BindingJSONRPC)
	card.SupportedInterfaces = append(card.SupportedInterfaces, cardAt("http://9.9.9.9", a2a.BindingJSONRPC).SupportedInterfaces...)
	o := &Options{}
	c, err := newClient(card, &source{reach: egress.Internet}, o, o.httpClient())
	if err != nil || len(c.faces) != 1 || hostOf(c.faces[0]) != "9.9.9.9" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestCardsDoNotStepDownFromTLS(t *testing.T) {
	home, _ := url.Parse("https://agent.example")
	for _, tt := range []struct {
		binding, at string
		reach       egress.Reach
		ok          bool
	}{
		{a2a.BindingJSONRPC, "http://agent.example", egress.Internet, false},
		{a2a.BindingJSONRPC, "http://other.example", egress.Internet, false},
		{a2a.BindingHTTPJSON, "http://other.example", egress.Internet, false},
		{a2a.BindingGRPC, "http://other.example:50051", egress.Internet, false},
		{a2a.BindingGRPC, "localhost:50051", egress.Internet, false},
		{a2a.BindingGRPC, "10.0.0.1:50051", egress.Internet, false},
		{a2a.BindingGRPC, "other.example:50051", egress.Internet, true}, // by TLS
		{a2a.BindingJSONRPC, "https://agent.example:8443", egress.Internet, true},
		{a2a.BindingJSONRPC, "http://agent.corp.example", egress.Network, true},
		{a2a.BindingJSONRPC, "http://agent.example", egress.Anywhere, true},
	} {
		card := &a2a.AgentCard{Name: "a", SupportedInterfaces: []*a2a.AgentInterface{{URL: tt.at, ProtocolBinding: tt.binding, ProtocolVersion: "1.0"}}}
		o := &Options{}
		_, err := newClient(card, &source{home: home, reach: tt.reach, secure: true}, o, o.httpClient())
		var a *AddressError
		if tt.ok != (err == nil) || !tt.ok && !errors.As(err, &a) {
			t.Errorf("%s at %s: %v", tt.binding, tt.at, err)
		}
	}
}

// TestGRPCGoesWhereTheCardMay: the transports for gRPC are guarded, too, and so
// are those below a layer of the caller's.
func TestGRPCAndLayersAreGuarded(t *testing.T) {
	for _, layered := range []bool{false, true} {
		for _, binding := range []string{a2a.BindingGRPC, a2a.BindingJSONRPC} {
			w := newInternet(t)
			w.names["in.example"] = []string{"10.0.0.7"}
			o := w.options()
			if layered {
				o.HTTPClient.Transport = above{o.HTTPClient.Transport}
			}
			card := &a2a.AgentCard{Name: "a", SupportedInterfaces: []*a2a.AgentInterface{{URL: "http://in.example", ProtocolBinding: binding, ProtocolVersion: "1.0"}}}
			c, err := newClient(card, &source{reach: egress.Internet}, o, o.httpClient())
			if err != nil {
				t.Fatal(err)
			}
			var a *AddressError
			if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); !errors.As(err, &a) || len(w.dialed) > 0 {
				t.Errorf("%s, layered %v: dialled %v: %v", binding, layered, w.dialed, err)
			}
		}
	}
}

type above struct{ http.RoundTripper }

func (a above) Base() *http.Transport                         { return a.RoundTripper.(*http.Transport) }
func (a above) Over(next http.RoundTripper) http.RoundTripper { return above{next} }

// TestBehindAProxy: only what the URL says is known, and that is judged.
func TestBehindAProxy(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		for to, ok := range map[string]bool{"http://in.example": true, "http://10.0.0.1": false, "http://localhost": false, "http://db": false} {
			w := newInternet(t)
			w.card["out.example"] = to
			o := w.options()
			rt := o.HTTPClient.Transport.(*http.Transport)
			rt.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:3128") }
			if unknown {
				o.HTTPClient.Transport = roundTripper(rt.RoundTrip)
			}
			_, err := w.call("http://out.example", o)
			var a *AddressError
			if ok != (err == nil) || !ok && !errors.As(err, &a) {
				t.Errorf("unknown %v, %s: %v", unknown, to, err)
			}
			w.to["away.example"] = to
			w.card["in.example"] = "http://in.example"
			_, err = Resolve(t.Context(), "http://away.example", o)
			if ok != (err == nil) || !ok && !errors.As(err, &a) {
				t.Errorf("unknown %v, redirect to %s: %v", unknown, to, err)
			}
		}
	}
}
