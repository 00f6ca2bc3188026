package port

import (
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

// turnSize is how many bytes a connection of the native server reads before it yields
// the processor. grpc-go starts a goroutine for each call that it reads. Without the
// yield, a client that begins a thousand calls at once would put a thousand goroutines
// in line before anybody else's next one.
const turnSize = 512

// Each call that came to nothing (Conn.Wasted) delays the next read of its connection
// by wasteTime; all of them together delay it by at most wasteMost.
const (
	wasteTime = 10 * time.Millisecond
	wasteMost = 100 * time.Millisecond
)

// Native serves the connections that the HTTP server hands over. A grpc.Server is one.
type Native interface {
	// Serve takes connections, each a *Conn, until Accept fails.
	Serve(net.Listener) error
	// GracefulStop waits for the calls under way; Stop cuts them off, and ends a
	// GracefulStop.
	GracefulStop()
	Stop()
}

// Conn is a connection of the native server, from its first byte. It is closed when it
// has been idle for too long or when its slot is needed; it is idle while no call is
// under way.
type Conn struct {
	net.Conn
	slot *slot
	from *http2Start
	tls  *tls.ConnectionState // nil in clear

	written atomic.Int64 // bytes
	read    atomic.Int64 // bytes
	turn    int          // bytes read since the last turn; the reader's alone
	wasted  atomic.Int64 // calls that came to nothing since the last read
}

// TLS returns the state of TLS, or nil in clear.
func (c *Conn) TLS() *tls.ConnectionState { return c.tls }

// Written returns how many bytes were written so far.
func (c *Conn) Written() int64 { return c.written.Load() }

// Received returns how many bytes were read so far.
func (c *Conn) Received() int64 { return c.read.Load() }

// Calls returns how many calls are under way.
func (c *Conn) Calls() int {
	c.slot.c.mu.Lock()
	defer c.slot.c.mu.Unlock()
	return c.slot.calls
}

// Begin notes that a call begins.
func (c *Conn) Begin() { c.slot.count(1) }

// End notes that a call ends.
func (c *Conn) End() { c.slot.count(-1) }

// Wasted notes that a call came to nothing: it was reset before it was served, or its
// client may not make it. A connection with many such calls is read slowly.
func (c *Conn) Wasted() { c.wasted.Add(1) }

func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

func (c *Conn) Read(p []byte) (int, error) {
	if n := c.wasted.Load(); n > 0 {
		c.wasted.Add(-n)
		time.Sleep(min(time.Duration(n)*wasteTime, wasteMost))
	} else if c.turn >= turnSize {
		c.turn = 0
		runtime.Gosched()
	}
	n, err := c.from.Read(p)
	c.turn += n
	c.read.Add(int64(n))
	return n, err
}

func (c *Conn) Close() error {
	defer c.slot.release()
	return c.Conn.Close()
}
