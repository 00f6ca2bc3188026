package port

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/queue"
)

// oneAtATime returns handshakes as on a machine with a single processor.
func oneAtATime() *queue.Fair[netip.Prefix] { return queue.NewFair[netip.Prefix](1) }

// signing calls made at each signature, which is made during a turn.
type signing struct {
	crypto.Signer
	made func()
}

func (s signing) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	s.made()
	return s.Signer.Sign(rand, digest, opts)
}

// told returns config with made called for each signature, with the signature's
// connection.
func told(config *tls.Config, pair tls.Certificate, made func(*handshakeConn)) *tls.Config {
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		of := hello.Conn.(*handshakeConn)
		return &tls.Certificate{Certificate: pair.Certificate, PrivateKey: signing{pair.PrivateKey.(crypto.Signer), func() { made(of) }}}, nil
	}
	return limitHandshakes(config)
}

// pipe is a connection of the loopback network.
func pipe(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

// Every kind of handshake computes during a turn, and has given it back at the end.
func TestHandshakesTakeTurns(t *testing.T) {
	a := porttest.NewAuthority(t)
	pair, mine := a.Pair(t, "agent"), a.Pair(t, "alice")
	tickets := tls.NewLRUClientSessionCache(8)
	for _, x := range []struct {
		name           string
		server, client *tls.Config // nil is the zero value
		fails, resumes bool
	}{
		{name: "1.3"},
		{name: "1.3, another curve than guessed", server: &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}}},
		{name: "1.2", client: &tls.Config{MaxVersion: tls.VersionTLS12}},
		{name: "1.3, a client certificate", server: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool()}, client: &tls.Config{Certificates: []tls.Certificate{mine}}},
		{name: "1.2, a client certificate", server: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool()}, client: &tls.Config{Certificates: []tls.Certificate{mine}, MaxVersion: tls.VersionTLS12}},
		{name: "none, though one is needed", server: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool()}, fails: true},
		{name: "nothing in common", server: &tls.Config{MinVersion: tls.VersionTLS13}, client: &tls.Config{MaxVersion: tls.VersionTLS12}, fails: true},
		{name: "a ticket is given", client: &tls.Config{ClientSessionCache: tickets}},
		{name: "and taken", client: &tls.Config{ClientSessionCache: tickets}, resumes: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.server == nil {
				x.server = new(tls.Config)
			}
			if x.client == nil {
				x.client = new(tls.Config)
			}
			h, signed := oneAtATime(), 0
			x.server.SetSessionTicketKeys([][32]byte{{1}}) // the next handshake knows it too
			server := told(x.server, pair, func(of *handshakeConn) {
				if signed++; !of.has.Load() {
					t.Error("a signature without a turn")
				}
			})
			below, other := pipe(t)
			x.client.RootCAs, x.client.ServerName = a.Pool(), "agent.test"
			client := tls.Client(other, x.client)
			heard := make(chan error, 1)
			go func() {
				_, err := client.Read(make([]byte, 1)) // this reads a ticket too
				heard <- err
			}()
			conn := tls.Server(newHandshakeConn(below, h), server)
			s := &sniffed{Conn: conn, p: testPort(slog.DiscardHandler, Options{})}
			err := s.handshake()
			if (err != nil) != x.fails {
				t.Fatalf("handshake: %v", err)
			}
			if err == nil {
				// The turn is free without a read that would give it back.
				if _, err := conn.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if err := <-heard; err != nil {
					t.Fatal(err)
				}
				if want := !x.resumes; (signed > 0) != want || conn.ConnectionState().DidResume != x.resumes {
					t.Errorf("%d signatures, resumed %v", signed, conn.ConnectionState().DidResume)
				}
			}
			if c := conn.NetConn().(*handshakeConn); c.has.Load() {
				t.Error("a turn is kept")
			}
			free(t, h)
		})
	}
}

// free fails if a turn is taken.
func free(t *testing.T, h *queue.Fair[netip.Prefix]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := h.Enter(ctx, netip.Prefix{}); err != nil {
		t.Error("a turn is taken")
		return
	}
	h.Leave()
}

// As many handshakes compute at a time as there are turns.
func TestHandshakesWait(t *testing.T) {
	a := porttest.NewAuthority(t)
	h := oneAtATime()
	var now, all atomic.Int32
	server := told(&tls.Config{}, a.Pair(t, "agent"), func(*handshakeConn) {
		if now.Add(1) > 1 {
			t.Error("two signatures at a time")
		}
		for h.Waiting() == 0 && all.Load() == 0 { // until another one is here
		}
		all.Add(1)
		now.Add(-1)
	})
	const many = 8
	done := make(chan error, 2*many)
	for range many {
		below, other := pipe(t)
		go func() {
			done <- tls.Client(other, &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test"}).HandshakeContext(t.Context())
		}()
		go func() {
			s := &sniffed{Conn: tls.Server(newHandshakeConn(below, h), server)}
			done <- s.handshake()
		}()
	}
	for range 2 * many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if all.Load() != many {
		t.Errorf("%d signatures", all.Load())
	}
	free(t, h)
}

// Clients that stop in the middle of a handshake delay no others.
func TestStalledHandshakesDelayNobody(t *testing.T) {
	a := porttest.NewAuthority(t)
	h := oneAtATime()
	server := limitHandshakes(&tls.Config{Certificates: []tls.Certificate{a.Pair(t, "agent")}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 4)
	for _, bytes := range []int{0, 5, -1} { // of the ClientHello; -1 is all of it
		below, other := pipe(t)
		hello := make(chan []byte, 1)
		go func() {
			c := tls.Client(&tap{other, hello, ctx}, &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test"})
			_ = c.HandshakeContext(ctx) // it is never answered
		}()
		first := <-hello
		if bytes < 0 {
			bytes = len(first)
		}
		if _, err := other.Write(first[:bytes]); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- tls.Server(newHandshakeConn(below, h), server).HandshakeContext(ctx) }()
		if bytes == len(first) { // the server's answer
			if _, err := io.ReadFull(other, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A client that does not read its answer.
	below, other := pipe(t)
	go func() {
		_ = tls.Client(other, &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test"}).HandshakeContext(ctx)
	}()
	full := &stuck{below, make(chan struct{}, 9), ctx}
	go func() { ended <- tls.Server(newHandshakeConn(full, h), server).HandshakeContext(ctx) }()
	<-full.writes

	below, other = pipe(t)
	done := make(chan error, 1)
	go func() {
		done <- tls.Client(other, &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test"}).HandshakeContext(t.Context())
	}()
	s := &sniffed{Conn: tls.Server(newHandshakeConn(below, h), server)}
	if err := errors.Join(s.handshake(), <-done); err != nil {
		t.Error(err)
	}
	cancel()
	for range 4 {
		if err := <-ended; err == nil {
			t.Error("a handshake that stalled was a success")
		}
	}
	free(t, h)
}

// tap keeps what is written, and a read waits until its context ends.
type tap struct {
	net.Conn
	wrote chan []byte
	until context.Context
}

func (c *tap) Write(p []byte) (int, error) {
	c.wrote <- append([]byte(nil), p...)
	return len(p), nil
}

func (c *tap) Read([]byte) (int, error) {
	<-c.until.Done()
	return 0, net.ErrClosed
}

// stuck blocks every write until its context ends.
type stuck struct {
	net.Conn
	writes chan struct{}
	until  context.Context
}

func (c *stuck) Write([]byte) (int, error) {
	c.writes <- struct{}{}
	<-c.until.Done()
	return 0, net.ErrClosed
}

// A connection that waits for a turn until its handshake's time is over is refused, and
// has had no turn.
func TestHandshakesDoNotWaitForEver(t *testing.T) {
	h := oneAtATime()
	if err := h.Enter(t.Context(), netip.Prefix{}); err != nil {
		t.Fatal(err)
	}
	a := porttest.NewAuthority(t)
	below, other := pipe(t)
	done := make(chan error, 1)
	go func() {
		done <- tls.Client(other, &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test"}).HandshakeContext(t.Context())
	}()
	ctx, cancel := context.WithCancel(t.Context())
	shaken := make(chan error, 1)
	conn := tls.Server(newHandshakeConn(below, h), told(&tls.Config{}, a.Pair(t, "agent"), func(*handshakeConn) { t.Error("a signature without a turn") }))
	go func() { shaken <- conn.HandshakeContext(ctx) }()
	for h.Waiting() == 0 {
	}
	cancel()
	if err := <-shaken; !errors.Is(err, context.Canceled) {
		t.Errorf("server: %v", err)
	}
	conn.Close()
	if err := <-done; err == nil {
		t.Error("the client had its handshake")
	}
	h.Leave()
	free(t, h)
}
