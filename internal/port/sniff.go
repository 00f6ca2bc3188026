package port

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// sniffed is a connection of the HTTP server. Its first Read, which happens in the
// connection's own goroutine, does the handshake of TLS, if there is one, and detects
// the protocol. The HTTP server takes the connection for one in clear. HTTP/1 costs a
// comparison. A connection that the native server claims leaves, and the HTTP server
// sees a client that hung up.
type sniffed struct {
	net.Conn
	p    *Port
	slot *slot // given back when the connection is closed, here or by the native server

	from io.Reader            // set by the first Read
	tls  *tls.ConnectionState // set by the first Read; nil in clear
	left atomic.Bool          // the connection is the native server's now
}

func (c *sniffed) Read(p []byte) (int, error) {
	if c.left.Load() {
		return 0, io.EOF
	}
	if c.from != nil {
		return c.from.Read(p)
	}
	if err := c.handshake(); err != nil {
		c.from = failed{err}
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	if err != nil || !bytes.HasPrefix(clientPreface, p[:min(n, len(clientPreface))]) {
		c.from = c.Conn
		return n, err
	}
	h, err := peekHTTP2(c.Conn, bytes.Clone(p[:n]))
	if err != nil {
		c.from = failed{err}
		return 0, err
	}
	if c.p.claims(h.content) {
		c.leave(h)
		return 0, io.EOF
	}
	c.from = h
	return h.Read(p)
}

// handshake does the handshake of TLS, within the time that net/http would give it.
func (c *sniffed) handshake() error {
	t, ok := c.Conn.(*tls.Conn)
	if p, above := c.Conn.(*peerConn); above {
		t, ok = p.Conn.(*tls.Conn)
	}
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), HeaderTimeout)
	defer cancel()
	err := t.HandshakeContext(ctx)
	if turn, ok := t.NetConn().(*handshakeConn); ok {
		turn.done()
	}
	if err != nil {
		var no tls.RecordHeaderError
		if errors.As(err, &no) && no.Conn != nil && bytes.IndexFunc(no.RecordHeader[:], func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			_, _ = io.WriteString(no.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nThis port takes https only.\n")
		}
		level, text := slog.LevelInfo, "TLS handshake failed"
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			level, text = slog.LevelDebug, "TLS handshake broken off" // somebody probed the port, or we closed it
		}
		c.p.log.write(level, text, slog.String("remote", c.RemoteAddr().String()), slog.Any("error", err))
		return err
	}
	state := t.ConnectionState()
	c.tls = &state
	return nil
}

// leave hands the connection over to the native server.
func (c *sniffed) leave(h *http2Start) {
	c.left.Store(true)
	c.from = failed{io.EOF}
	_ = c.Conn.SetDeadline(time.Time{}) // a broken connection shows when it is read
	on := &Conn{Conn: c.Conn, slot: c.slot, from: h, tls: c.tls}
	on.slot.leave()
	on.slot.set(false) // its idle time begins again
	select {
	case c.p.handed <- on:
	case <-c.p.closed:
		on.Close()
	}
}

// The HTTP server must not touch a connection that has left.

func (c *sniffed) Write(p []byte) (int, error) {
	if c.left.Load() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *sniffed) Close() error {
	if c.left.Load() {
		return nil
	}
	defer c.slot.release()
	return c.Conn.Close()
}

func (c *sniffed) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok && !c.left.Load() {
		return w.CloseWrite()
	}
	return nil
}

func (c *sniffed) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *sniffed) SetReadDeadline(t time.Time) error {
	if c.left.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *sniffed) SetWriteDeadline(t time.Time) error {
	if c.left.Load() {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// failed is a reader that fails with err.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }
