package a2aserver

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/queue"
)

// handshakes are done as many at a time as half of the processors: a handshake
// takes about a millisecond of one, which is what strangers can make a server
// spend for less of their own. Addresses have their turns one after the other.
//
// Only to compute takes a turn. Who is waited for has none, so that clients who
// stall keep nobody.
type handshakes struct {
	turns *queue.Fair[netip.Prefix]
}

func newHandshakes() *handshakes {
	return &handshakes{queue.NewFair[netip.Prefix](max(1, runtime.GOMAXPROCS(0)/2))}
}

// inTurn is a connection below one of TLS, until its handshake is over. Its turn
// begins with what the client sends and ends with the answer.
type inTurn struct {
	net.Conn
	of   *handshakes
	from netip.Prefix

	ctx  context.Context // of the handshake, from the ClientHello on; belongs to the handshake
	over atomic.Bool
	has  atomic.Bool // a turn
}

func (h *handshakes) conn(c net.Conn) *inTurn {
	t := &inTurn{Conn: c, of: h}
	if remote := c.RemoteAddr(); remote != nil {
		if at, err := netip.ParseAddrPort(remote.String()); err == nil {
			t.from = network(plainAddr(at.Addr()))
		}
	}
	return t
}

// begin is called with a ClientHello, of which nothing has been computed yet.
func (c *inTurn) begin(ctx context.Context) error {
	c.ctx = ctx
	return c.enter()
}

func (c *inTurn) enter() error {
	if err := c.of.turns.Enter(c.ctx, c.from); err != nil {
		return err
	}
	c.has.Store(true)
	return nil
}

func (c *inTurn) leave() {
	if c.has.Load() && c.has.CompareAndSwap(true, false) {
		c.of.turns.Leave()
	}
}

// done is called at the handshake's end.
func (c *inTurn) done() {
	c.over.Store(true)
	c.leave()
}

func (c *inTurn) Read(p []byte) (int, error) {
	if c.over.Load() || c.ctx == nil {
		return c.Conn.Read(p)
	}
	c.leave()
	n, err := c.Conn.Read(p)
	if n > 0 {
		if err := c.enter(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// Write ends the turn, too: what is computed goes out with the last of it, and the
// client may not take it.
func (c *inTurn) Write(p []byte) (int, error) {
	c.leave()
	return c.Conn.Write(p)
}

// inTurns is config for connections that may be inTurn.
func inTurns(config *tls.Config) *tls.Config {
	c := config.Clone()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (use *tls.Config, err error) {
		if config.GetConfigForClient != nil {
			use, err = config.GetConfigForClient(hello)
		}
		if turn, ok := hello.Conn.(*inTurn); ok && err == nil {
			err = turn.begin(hello.Context())
		}
		return use, err
	}
	return c
}

// tlsListener is a listener whose connections a Port makes those of TLS, with the
// handshakes in turn. To others it is like one of crypto/tls.
type tlsListener struct {
	net.Listener // of crypto/tls
	below        net.Listener
	config       *tls.Config
}

// Listener returns a listener with TLS, like [tls.NewListener] with t.Config. A
// [Port] that serves it does half as many handshakes at a time as there are
// processors, by addresses in turn, so that those who begin one after the other
// leave something for calls. Other servers do them as they come.
func (t *TLS) Listener(l net.Listener) net.Listener {
	config := inTurns(t.Config())
	return &tlsListener{tls.NewListener(l, config), l, config}
}
