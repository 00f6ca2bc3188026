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

	reads lateDeadline

	turn sync.Mutex // held by the write under way; protects the field below
	pace Pace

	// A write has to end at its due time: the earlier of the two deadlines above and ours.
	// The connection has one of its own, which may be earlier while nothing depends on it.
	mu    sync.Mutex // protects the fields below
	above time.Time  // set by the layers above; zero if there is none
	ours  time.Time  // of the write under way, by the limit; zero if there is no write
	has   time.Time  // the one that the connection has
}

func newPeerConn(c net.Conn, limit time.Duration) *peerConn {
	_, secure := c.(*tls.Conn) // of a listener that is not ours
	keepLittleUnsent(beneath(c))
	return &peerConn{Conn: c, limit: limit, since: time.Now(), exact: secure, reads: lateDeadline{set: c.SetReadDeadline}}
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

func (c *peerConn) Read(p []byte) (int, error) {
	if err := c.reads.begin(); err != nil {
		return 0, err
	}
	defer c.reads.end()
	return c.Conn.Read(p)
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
	ours := began.Add(c.pace.Allows(len(p), c.limit, began.Sub(c.since)))
	for now := began; ; now = time.Now() {
		if err := c.begin(ours, now); err != nil {
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
		// The connection's deadline has passed: it was not ours, perhaps.
	}
	c.end()
	c.pace.Wrote(n, began.Sub(c.since), time.Since(c.since))
	return n, nil
}

// begin begins a write that has to end at ours, or continues it at now. It leaves the
// connection a deadline that will pass in time.
func (c *peerConn) begin(ours, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ours = ours
	due := c.dueLocked()
	switch {
	case !due.After(now):
		return os.ErrDeadlineExceeded
	case !c.exact && c.has.After(now) && !c.has.After(due):
		return nil
	}
	return c.giveLocked(due)
}

func (c *peerConn) end() {
	c.mu.Lock()
	c.ours = time.Time{}
	c.mu.Unlock()
}

func (c *peerConn) dueLocked() time.Time {
	if c.above.IsZero() || c.ours.Before(c.above) {
		return c.ours
	}
	return c.above
}

func (c *peerConn) giveLocked(at time.Time) error {
	c.has = at
	return c.Conn.SetWriteDeadline(at)
}

// SetWriteDeadline limits writes further; a write under way gets it at once.
func (c *peerConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.above = t
	if c.ours.IsZero() {
		return nil
	}
	if due := c.dueLocked(); due.Before(c.has) {
		return c.giveLocked(due)
	}
	return nil
}

func (c *peerConn) SetReadDeadline(t time.Time) error { return c.reads.to(t) }

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
