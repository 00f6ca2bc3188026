package port

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/port/porttest"
)

// noNative is a native server that serves nothing.
type noNative struct{}

func (noNative) Serve(l net.Listener) error {
	_, err := l.Accept()
	return err
}
func (noNative) GracefulStop() {}
func (noNative) Stop()         {}

// testPort is a Port that answers all requests with 200.
func testPort(log slog.Handler, o Options) *Port {
	o.WriteTimeout, o.Log = 30*time.Second, slog.New(log)
	return New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), noNative{}, func(string) bool { return false }, o)
}

// fromAddr is a connection from somewhere.
type fromAddr struct {
	net.Conn
	at     string
	closed *int
}

func (c fromAddr) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.at + ":1"))
}
func (c fromAddr) Close() error { *c.closed++; return nil }

// An address has its share of the connections. Its new connections take the slots of
// its own idle ones, not of others'.
func TestShareOfAnAddress(t *testing.T) {
	log := newThrottled(slog.New(slog.DiscardHandler))
	trusted := func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.200") }
	for _, tt := range []struct {
		limits Options
		at     string
		want   int // connections that are let in while all are busy
	}{
		{Options{Connections: 10, AddrConnections: 5}, "192.0.2.1", 5},
		{Options{Connections: 10, AddrConnections: 5}, "127.0.0.1", 10}, // a proxy that is not declared
		{Options{Connections: 10, AddrConnections: 5, Trusted: trusted}, "192.0.2.200", 10},
		{Options{Connections: 10}, "192.0.2.1", 10},
		{Options{Connections: 10, AddrConnections: 3, LimitLoopback: true}, "127.0.0.1", 3},
		{Options{AddrConnections: 3}, "192.0.2.1", 3},
		{Options{}, "192.0.2.1", 10},
	} {
		c := newConns(&tt.limits, log)
		closed, in := 0, 0
		for range 10 {
			if p, ok := c.enter(fromAddr{nil, tt.at, &closed}); ok {
				p.set(true)
				in++
			}
		}
		if in != tt.want {
			t.Errorf("%+v: %d from %s were let in, want %d", tt.limits, in, tt.at, tt.want)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		met := map[Limited]int{}
		c := newConns(&Options{Connections: 4, AddrConnections: 2, Limited: func(how Limited) { met[how]++ }}, log)
		var theirs, other int
		enter := func(at string, closed *int) (*slot, bool) {
			if err := c.wait(); err != nil {
				t.Fatal(err)
			}
			p, ok := c.enter(fromAddr{nil, at, closed})
			if !ok {
				c.free()
			}
			return p, ok
		}
		enter("192.0.2.2", &other) // idle for longest
		a, _ := enter("192.0.2.1", &theirs)
		time.Sleep(time.Millisecond)
		enter("192.0.2.1", &theirs)
		if _, ok := enter("192.0.2.1", &theirs); ok {
			t.Error("a third was let in at once")
		}
		a.set(true)
		time.Sleep(leastIdle)
		if _, ok := enter("192.0.2.1", &theirs); !ok || theirs != 1 || other != 0 {
			t.Errorf("a newcomer was let in: %v; %d of its address and %d of others were closed", ok, theirs, other)
		}
		if n := c.from[a.from].open; n != 2 {
			t.Errorf("%d are counted", n)
		}
		if c.open != (Open{HTTP: 3, Limit: 4}) || met[Refused] != 1 || met[Evicted] != 1 || met[Waited] != 0 {
			t.Errorf("%+v are open, and limits led to %v", c.open, met)
		}
	})
}

// exhausted is a listener of a machine that has run out of something.
type exhausted struct {
	*porttest.Pipes
	err   error
	times int
	tries int
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.tries++; l.tries <= l.times {
		return nil, &net.OpError{Op: "accept", Err: l.err}
	}
	return l.Pipes.Accept()
}

// If the machine has no descriptor, or no memory, for another connection, the
// connection waits: the server continues, does not spin, and logs it once a minute.
func TestAcceptWaitsForDescriptors(t *testing.T) {
	for _, no := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			p := testPort(slog.NewTextHandler(&log, nil), Options{})
			l := &exhausted{Pipes: porttest.NewPipes(), err: no, times: 130}
			ended := make(chan error, 1)
			go func() { ended <- p.Serve(l) }()
			began := time.Now()
			c := l.Dial()
			if took := time.Since(began); took < time.Minute || took > 3*time.Minute {
				t.Errorf("%v: 130 tries took %v", no, took)
			}
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
				t.Errorf("%v: then %v, %v", no, res, err)
			}
			_ = p.Close()
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
				t.Errorf("%v: Serve: %v", no, err)
			}
			c.Close()
			synctest.Wait()
			if n := strings.Count(log.String(), "\n"); n == 0 || n > 3 {
				t.Errorf("%v: it said\n%s", no, log.String())
			}
		})
	}
}

// A line that any client can cause at no cost is logged once a minute, and the others
// are counted.
func TestLogOfStrangers(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		p := testPort(slog.NewTextHandler(&log, nil), Options{})
		l := porttest.NewPipes()
		ended := make(chan error, 1)
		pair := porttest.NewAuthority(t).Pair(t, "localhost")
		on := TLSListener(l, &tls.Config{Certificates: []tls.Certificate{pair}})
		go func() { ended <- p.Serve(on) }()
		fail := func() {
			c := l.Dial()
			defer c.Close()
			go io.Copy(io.Discard, c)
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
			synctest.Wait()
		}
		for range 50 {
			fail()
		}
		time.Sleep(time.Minute)
		fail()
		_ = p.Close()
		<-ended
	})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "TLS handshake failed") || !strings.Contains(lines[1], "more=49") {
		t.Errorf("%d lines:\n%.2000s", len(lines), log.String())
	}
}

// net/http's remarks about clients are logged at level debug; a panic is an
// error.
func TestLogOfHTTP(t *testing.T) {
	var log bytes.Buffer
	p := testPort(slog.NewTextHandler(&log, nil), Options{})
	p.http.ErrorLog.Print("http: response.WriteHeader on hijacked connection from a stranger")
	if log.Len() > 0 {
		t.Errorf("at the level of information: %s", log.String())
	}
	p.http.ErrorLog.Print("http: panic serving 192.0.2.1:1: boom\ngoroutine 1")
	p.http.ErrorLog.Print("http: panic serving 192.0.2.1:2: boom\ngoroutine 2")
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("of panics: %s", log.String())
	}
}

// remoteConn is a connection that comes from an address.
type remoteConn struct {
	net.Conn
	at net.Addr
}

func (c remoteConn) RemoteAddr() net.Addr { return c.at }

// Counts by address use the first 64 bits of IPv6, and a whole IPv4 address in
// whichever form the socket writes it.
func TestNetworksCountAsOneAddress(t *testing.T) {
	all := newConns(&Options{Connections: 8, AddrConnections: 4}, nil)
	for remote, want := range map[string]string{
		"[2001:db8:1:2::1]:1": "2001:db8:1:2::/64", "[2001:db8:1:2:ffff::9]:2": "2001:db8:1:2::/64", "[2001:db8:1:3::1]:1": "2001:db8:1:3::/64",
		"192.0.2.1:1": "192.0.2.1/32", "[::ffff:192.0.2.1]:2": "192.0.2.1/32", "[::ffff:192.0.2.2]:2": "192.0.2.2/32",
		"[fe80::1%eth0]:1": "fe80::/64", "[fe80::2%eth1]:1": "fe80::/64",
	} {
		c := remoteConn{at: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote))}
		p := &slot{c: all, conn: c}
		all.counts(p)
		for what, got := range map[string]netip.Prefix{"connections": p.from, "handshakes": newHandshakeConn(c, nil).from} {
			if got.String() != want {
				t.Errorf("%s: %s counts %s, want %s", remote, what, got, want)
			}
		}
	}
}
