package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
)

// limitedPort serves svc with options until the test ends.
func limitedPort(t testing.TB, svc a2a.Service, o *Options) (addr string, s *Server) {
	t.Helper()
	s = New(svc, auditCard(), o)
	return onPort(t, s, nil), s
}

// everyWire calls test with a client of each binding of each dialect. The client does
// not retry, so that it gets the server's first answer.
func everyWire(t *testing.T, addr string, test func(t *testing.T, wire string, c *a2aclient.Client)) {
	t.Helper()
	for _, version := range []string{"1.0", "0.3", "0.1", "1.1"} {
		d, _ := dialect.ParseVersion(version)
		for _, binding := range d.Bindings() {
			c, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Version: version, Bindings: []string{binding}, Retries: -1, APIKey: "right"})
			if err != nil {
				t.Fatal(err)
			}
			test(t, version+" "+binding, c)
		}
	}
}

// refusing is an Identity that refuses everybody with an error.
type refusing struct{ err error }

func (r refusing) Authenticate(*http.Request) (a2a.Caller, error) { return a2a.Caller{}, r.err }
func (refusing) Challenges(*a2a.Error) []string                   { return []string{`Bearer realm="a2a"`} }

// The gate's refusal of a call arrives unchanged over every binding, and does
// not wait for the body.
func TestRefusalsOnEveryWire(t *testing.T) {
	for _, want := range []*a2a.Error{
		{Code: a2a.CodeUnauthenticated, Message: "who are you?"},
		{Code: a2a.CodePermissionDenied, Message: "not you", Meta: map[string]string{"scope": "tasks:write"}},
		{Code: a2a.CodeRateLimited, Message: "later", RetryAfter: 1500 * time.Millisecond},
		{Code: a2a.CodeUnavailable, Message: "much later", RetryAfter: time.Hour},
		{Code: a2a.CodeLoop, Message: "round and round"},
	} {
		addr, _ := limitedPort(t, agreeable{}, &Options{Identity: refusing{want}})
		everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
			for _, op := range []dialect.Op{dialect.SendMessage, dialect.GetTask, dialect.SendStreamingMessage} {
				err := ask(t.Context(), c, op)
				var e *a2a.Error
				if !errors.As(err, &e) || e.Code != want.Code || e.Message != want.Message || !e.Peer {
					t.Errorf("%s %s: %v", wire, op, err)
					continue
				}
				if secs := (want.RetryAfter + time.Second - 1).Truncate(time.Second); e.RetryAfter != secs {
					t.Errorf("%s %s: try again after %v, want %v", wire, op, e.RetryAfter, secs)
				}
			}
		})
	}
}

// Over HTTP the status line and the headers say it, too.
func TestRefusalsOverHTTP(t *testing.T) {
	for _, tt := range []struct {
		err                      *a2a.Error
		rest, rpc                int
		retryAfter, authenticate string
	}{
		{&a2a.Error{Code: a2a.CodeUnauthenticated}, 401, 401, "", `Bearer realm="a2a"`},
		{&a2a.Error{Code: a2a.CodePermissionDenied}, 403, 403, "", `Bearer realm="a2a"`},
		{&a2a.Error{Code: a2a.CodeRateLimited, RetryAfter: time.Millisecond}, 429, 429, "1", ""},
		{&a2a.Error{Code: a2a.CodeRateLimited}, 429, 429, "", ""},
		{&a2a.Error{Code: a2a.CodeUnavailable, RetryAfter: 2001 * time.Millisecond}, 503, 200, "3", ""},
		{&a2a.Error{Code: a2a.CodeLoop}, 508, 200, "", ""},
	} {
		h := New(agreeable{}, testCard(), &Options{Identity: refusing{tt.err}})
		for _, version := range []string{"1.0", "0.3"} {
			for path, want := range map[string]int{"/": tt.rpc, map[string]string{"1.0": "/message:send", "0.3": "/v1/message:send"}[version]: tt.rest} {
				method := map[string]string{"1.0": "SendMessage", "0.3": "message/send"}[version]
				w := do(h, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, "A2A-Version: "+version)
				if w.Code != want || w.Header().Get("Retry-After") != tt.retryAfter || w.Header().Get("WWW-Authenticate") != tt.authenticate {
					t.Errorf("%v at %s in %s: HTTP %d, %v", tt.err.Code, path, version, w.Code, w.Header())
				}
				if rpc := strings.Contains(w.Body.String(), `"jsonrpc":"2.0"`); rpc != (path == "/") {
					t.Errorf("%v at %s in %s: %s", tt.err.Code, path, version, w.Body)
				}
				if w.Header().Get("Connection") != "close" {
					t.Errorf("%v at %s: the body would be waited for", tt.err.Code, path)
				}
			}
		}
	}
}

// Over HTTP/2 other requests share the connection: a refusal does not end it.
func TestRefusalKeepsHTTP2Connection(t *testing.T) {
	addr, _ := limitedPort(t, agreeable{}, &Options{Identity: refusing{a2a.ErrUnauthenticated}})
	dialed := 0
	// Without a limit the client may dial again before it knows that it can share the connection.
	tr := &http.Transport{Protocols: new(http.Protocols), MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed++
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	for range 5 {
		res, err := (&http.Client{Transport: tr}).Post("http://"+addr+"/", "application/json", strings.NewReader(strings.Repeat(" ", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 401 {
			t.Errorf("HTTP %d", res.StatusCode)
		}
	}
	if dialed != 1 {
		t.Errorf("%d connections", dialed)
	}
}

func TestRateIsOneForAllWires(t *testing.T) {
	addr, s := limitedPort(t, agreeable{}, &Options{Limits: Limits{Rate: 0.0001, Burst: 3}, Identity: keyed{"right"}})
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		s.rates.mu.Lock()
		clear(s.rates.full)
		s.rates.mu.Unlock()
		for i := range 5 {
			err := ask(t.Context(), c, dialect.GetTask)
			var e *a2a.Error
			switch limited := errors.As(err, &e) && e.Code == a2a.CodeRateLimited; {
			case limited != (i >= 3):
				t.Errorf("%s, request %d: %v", wire, i, err)
			case limited && (e.RetryAfter < 9000*time.Second || e.RetryAfter > 10_000*time.Second):
				t.Errorf("%s: try again after %v", wire, e.RetryAfter)
			}
		}
		if _, err := c.SendMessage(t.Context(), asking(dialect.SendMessage).(*a2a.SendMessageRequest)); !errors.Is(err, a2a.ErrRateLimited) {
			t.Errorf("%s: a message: %v", wire, err)
		}
	})
	for _, path := range []string{cardPath, "/livez", "/readyz", "/"} {
		if w := do(s, "GET", path, ""); w.Code >= 400 && path != "/readyz" {
			t.Errorf("%s: HTTP %d", path, w.Code)
		}
	}
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := callerKey{subject: "a"}, callerKey{tenant: "x", subject: "a"}
		r := newRates(&Limits{Rate: 10, Burst: 5})
		for range 5 {
			if err := r.count(a); err != nil {
				t.Fatal(err)
			}
		}
		var e *a2a.Error
		if err := r.count(a); !errors.As(err, &e) || e.RetryAfter != 100*time.Millisecond {
			t.Errorf("%v", err)
		}
		if err := r.count(b); err != nil {
			t.Errorf("another one: %v", err)
		}
		time.Sleep(e.RetryAfter)
		if err := r.count(a); err != nil {
			t.Errorf("after the time: %v", err)
		}
		if r.count(a) == nil {
			t.Error("one time is for one request")
		}
		time.Sleep(time.Hour) // fills the bucket, but not further
		n := 0
		for r.count(a) == nil {
			n++
		}
		if n != 5 {
			t.Errorf("%d at once after an hour", n)
		}
	})
	for _, l := range []Limits{{}, {Rate: -1}, {Burst: 5}} {
		if r := newRates(&l); r != nil || r.count(callerKey{}) != nil {
			t.Errorf("%+v limits something", l)
		}
	}
	for _, l := range []Limits{{Rate: 1e-300}, {Rate: 1e300}, {Rate: 1e-9, Burst: 1 << 62}, {Rate: 1e12, Burst: 1 << 62}} {
		if r := newRates(&l); r.step <= 0 || r.whole < r.step || r.count(callerKey{}) != nil {
			t.Errorf("%+v: %v of %v", l, r.step, r.whole)
		}
	}
}

// A caller with very many addresses fills the table, but does not make it forget any
// other caller's rate.
func TestRatesAreBounded(t *testing.T) {
	r := newRates(&Limits{Rate: 0.001, Burst: 2})
	r.most = 100
	busy := callerKey{subject: "busy"}
	for r.count(busy) == nil {
	}
	for i := range 10_000 {
		_ = r.count(callerKey{from: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)})
		if len(r.full) > r.most {
			t.Fatalf("%d buckets", len(r.full))
		}
	}
	if r.count(busy) == nil {
		t.Error("the busy one was forgotten")
	}
	synctest.Test(t, func(t *testing.T) { // all full buckets are dropped at once
		r := newRates(&Limits{Rate: 1, Burst: 2})
		r.most = 100
		for i := range 100 {
			_ = r.count(callerKey{subject: fmt.Sprint(i)})
		}
		time.Sleep(time.Minute)
		if _ = r.count(busy); len(r.full) != 1 {
			t.Errorf("%d buckets", len(r.full))
		}
	})
}

// Streams are counted over all bindings, and are no longer counted after any kind of
// end.
func TestStreamsOfACaller(t *testing.T) {
	left := make(chan time.Duration, 10)
	fail := make(chan error, 1)
	svc := streaming(func(ctx context.Context) elements {
		select {
		case err := <-fail:
			if err == nil {
				panic("the service is broken")
			}
			return yields(err)
		default:
			return waiting(left, taskAt(1))(ctx)
		}
	})
	addr, s := limitedPort(t, svc, &Options{Limits: Limits{Streams: 2}})
	open := func() int {
		s.streams.mu.Lock()
		defer s.streams.mu.Unlock()
		n := 0
		for _, k := range s.streams.open {
			n += k
		}
		return n
	}
	subscribe := func(c *a2aclient.Client) (context.CancelFunc, error) {
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			for _, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "t1"}) {
				select {
				case first <- err:
				default:
				}
			}
		}()
		return cancel, <-first
	}
	gone := func(n int) { // until the handlers have noticed
		for range n {
			<-left
		}
		for open() > 0 {
			runtime.Gosched()
		}
	}
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		if strings.HasPrefix(wire, "0.1") {
			return // its client retries in other ways
		}
		one, err1 := subscribe(c)
		two, err2 := subscribe(c)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %v, %v", wire, err1, err2)
		}
		var e *a2a.Error
		if _, err := subscribe(c); !errors.As(err, &e) || e.Code != a2a.CodeRateLimited || e.RetryAfter <= 0 {
			t.Errorf("%s: a third: %v", wire, err)
		}
		one()
		two()
		gone(2)
		for _, err := range []error{a2a.ErrTaskNotFound, nil} { // nil: a panic
			fail <- err
			if _, err := subscribe(c); err == nil {
				t.Errorf("%s: no error", wire)
			}
		}
		gone(0)
	})
	d, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subscribe(d); err != nil {
		t.Fatal(err)
	}
	s.Drain()
	gone(1)
}
