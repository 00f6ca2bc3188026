package port

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// peerConn is a connection of a Port below everything that writes to it: net/http,
// grpc-go, TLS and the Port itself before any of them. Each write of up to WriteSize
// bytes has the time limit of a write, and all writes together have to go at minRate; a
// peer that is slower loses the connection.
//
// Deadlines that the layers above set count as well. The connection gets one only if it
// has none, or a later one than it should have; one that passes too early is replaced.
// So a busy connection costs a timer once in 30 s, not nine for each request, which is
// how often net/http and our handlers set one.
type peerConn struct {
	net.Conn
	limit time.Duration // of each write
	since time.Time
	exact bool // the connection is one of TLS, which an early deadline breaks

	turn sync.Mutex // held by the write under way; protects the field below
	pace Pace

	mu    sync.Mutex // protects the fields below
	asked time.Time  // the deadline set by the layers above; zero if there is none
	own   time.Time  // of the write under way; zero if there is none
	told  time.Time  // the deadline that the connection has
}

func newPeerConn(c net.Conn, limit time.Duration) *peerConn {
	_, secure := c.(*tls.Conn) // of a listener that is not ours
	keepLittleUnsent(beneath(c))
	return &peerConn{Conn: c, limit: limit, since: time.Now(), exact: secure}
}

// LimitWrites returns a listener whose connections have the limits of a [Port] on
// writes, for HTTP servers that are no Port.
func LimitWrites(l net.Listener, limit time.Duration) net.Listener {
	return &limitedListener{l, limit}
}

type limitedListener struct {
	net.Listener
	limit time.Duration
}

func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newPeerConn(c, l.limit), nil
}

// beneath returns the connection below one of TLS; any other one it returns as it is.
func beneath(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

func (c *peerConn) Write(p []byte) (n int, err error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	for {
		k, err := c.write(p[n:min(len(p), n+WriteSize)])
		if n += k; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *peerConn) write(p []byte) (n int, err error) {
	began := time.Now()
	own := began.Add(c.pace.Allows(len(p), c.limit, began.Sub(c.since)))
	for now := began; ; now = time.Now() {
		if err := c.begin(own, now); err != nil {
			c.abandon()
			return n, err
		}
		k, err := c.Conn.Write(p[n:])
		n += k
		if err == nil {
			break
		}
		if c.exact || !errors.Is(err, os.ErrDeadlineExceeded) {
			c.abandon()
			return n, err
		}
	}
	c.end()
	c.pace.Wrote(n, began.Sub(c.since), time.Since(c.since))
	return n, nil
}

// begin makes sure that the connection has the deadline of a write that continues at
// now.
func (c *peerConn) begin(own, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = own
	at := c.deadlineLocked()
	switch {
	case !at.After(now):
		return os.ErrDeadlineExceeded
	case !c.exact && c.told.After(now) && !c.told.After(at):
		return nil
	}
	return c.tellLocked(at)
}

func (c *peerConn) end() {
	c.mu.Lock()
	c.own = time.Time{}
	c.mu.Unlock()
}

func (c *peerConn) deadlineLocked() time.Time {
	if c.asked.IsZero() || c.own.Before(c.asked) {
		return c.own
	}
	return c.asked
}

func (c *peerConn) tellLocked(at time.Time) error {
	c.told = at
	return c.Conn.SetWriteDeadline(at)
}

// SetWriteDeadline limits writes further; a write under way gets it at once.
func (c *peerConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = t
	if c.own.IsZero() {
		return nil
	}
	if at := c.deadlineLocked(); at.Before(c.told) {
		return c.tellLocked(at)
	}
	return nil
}

func (c *peerConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// abandon closes the connection after a failed write: a part of the data is missing, so
// nothing can follow it. The system drops what it has not sent, because the peer would
// not take that either.
func (c *peerConn) abandon() {
	c.end()
	below := beneath(c.Conn)
	if t, ok := below.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	below.Close()
}

func (c *peerConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
