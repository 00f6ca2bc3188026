package port

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/queue"
)

// newTurns returns the turns of handshakes, of which half as many as there are processors
// are done at a time. A handshake takes about a millisecond of a processor, and costs a
// stranger less than the server. Addresses take turns.
//
// A turn covers CPU work only. None is held while waiting for a client, so a client
// that stalls delays no others.
func newTurns() *queue.Fair[netip.Prefix] {
	return queue.NewFair[netip.Prefix](max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2))
}

// handshakeConn is the connection below one of TLS, until the handshake is over. Its
// turn begins when bytes of the client arrive and ends with the answer to them.
type handshakeConn struct {
	net.Conn
	turns *queue.Fair[netip.Prefix]
	from  netip.Prefix

	ctx context.Context // of the handshake, from the ClientHello to the end, else nil; belongs to the reader
	has atomic.Bool     // a turn
}

func newHandshakeConn(c net.Conn, turns *queue.Fair[netip.Prefix]) *handshakeConn {
	h := &handshakeConn{Conn: c, turns: turns}
	if addr, ok := remoteNetwork(c); ok {
		h.from = Network(addr)
	}
	return h
}

// begin is called with a ClientHello, before anything is computed for it.
func (c *handshakeConn) begin(ctx context.Context) error {
	c.ctx = ctx
	return c.enter()
}

func (c *handshakeConn) enter() error {
	if err := c.turns.Enter(c.ctx, c.from); err != nil {
		return err
	}
	c.has.Store(true)
	return nil
}

func (c *handshakeConn) leave() {
	if c.has.CompareAndSwap(true, false) {
		c.turns.Leave()
	}
}

// done is called at the handshake's end.
func (c *handshakeConn) done() {
	c.ctx = nil
	c.leave()
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	if c.ctx == nil {
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

// Write ends the turn, too: the result of a computation is written at its end, and the
// client may not read it.
func (c *handshakeConn) Write(p []byte) (int, error) {
	c.leave()
	return c.Conn.Write(p)
}

// limitHandshakes returns config for connections, some of which are a handshakeConn.
func limitHandshakes(config *tls.Config) *tls.Config {
	c := config.Clone()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (use *tls.Config, err error) {
		if config.GetConfigForClient != nil {
			use, err = config.GetConfigForClient(hello)
		}
		if turn, ok := hello.Conn.(*handshakeConn); ok && err == nil {
			err = turn.begin(hello.Context())
		}
		return use, err
	}
	return c
}

// tlsListener is a listener on which a Port does the handshakes of TLS itself, in
// turns. Other servers use it as a listener of crypto/tls.
type tlsListener struct {
	net.Listener // of crypto/tls
	below        net.Listener
	config       *tls.Config
}

// Listener returns a listener with TLS, like [tls.NewListener] with t.Config. A [Port]
// that serves it does half as many handshakes at a time as there are processors, and
// addresses take turns, so that a flood of handshakes leaves processor time for calls.
// Other servers do handshakes as they arrive.
func (t *TLS) Listener(l net.Listener) net.Listener {
	return TLSListener(l, t.Config())
}

// TLSListener is [TLS.Listener] for any configuration.
func TLSListener(l net.Listener, config *tls.Config) net.Listener {
	config = limitHandshakes(config)
	return &tlsListener{tls.NewListener(l, config), l, config}
}
