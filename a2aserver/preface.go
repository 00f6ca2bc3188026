package a2aserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/credentials"
)

// clientPreface begins every HTTP/2 connection (RFC 9113 section 3.4).
var clientPreface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// sniffed is a connection of the HTTP server. Its first Read, which happens in
// the connection's own goroutine, finds out what is spoken, after the handshake
// if the connection is one of TLS: the HTTP server takes it for one in clear.
// HTTP/1 costs a comparison; gRPC leaves, and the HTTP server sees a client that
// hung up.
type sniffed struct {
	net.Conn
	p     *Port
	place *place // given back when the connection is closed, here or by grpc-go

	from io.Reader            // set by the first Read
	tls  *tls.ConnectionState // likewise; nil in clear
	left atomic.Bool          // the connection is grpc-go's now

	secure bool // the connection is one of TLS

	reads, writes lateDeadline
}

func newSniffed(c net.Conn, p *Port, place *place) *sniffed {
	s := &sniffed{Conn: c, p: p, place: place}
	_, s.secure = c.(*tls.Conn)
	s.reads.set, s.writes.set = c.SetReadDeadline, c.SetWriteDeadline
	return s
}

func (c *sniffed) Read(p []byte) (int, error) {
	if c.left.Load() {
		return 0, io.EOF
	}
	if err := c.reads.begin(); err != nil {
		return 0, err
	}
	defer c.reads.end()
	if c.secure { // a read may have to answer
		if err := c.writes.begin(); err != nil {
			return 0, err
		}
		defer c.writes.end()
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
	if h.grpc {
		c.leave(h)
		return 0, io.EOF
	}
	c.from = h
	return h.Read(p)
}

// handshake is that of TLS, in the time that net/http would give it.
func (c *sniffed) handshake() error {
	t, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), headerTimeout)
	defer cancel()
	err := t.HandshakeContext(ctx)
	if turn, ok := t.NetConn().(*inTurn); ok {
		turn.done()
	}
	if err != nil {
		var no tls.RecordHeaderError
		if errors.As(err, &no) && no.Conn != nil && bytes.IndexFunc(no.RecordHeader[:], func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			_, _ = io.WriteString(no.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nThis port takes https only.\n")
		}
		level := slog.LevelInfo
		if errors.Is(err, io.EOF) {
			level = slog.LevelDebug // somebody looked whether the port is open
		}
		c.p.s.front().log.LogAttrs(ctx, level, "TLS handshake failed", slog.String("remote", c.RemoteAddr().String()), slog.Any("error", err))
		return err
	}
	state := t.ConnectionState()
	c.tls = &state
	return nil
}

// leave hands the connection over.
func (c *sniffed) leave(h *http2Start) {
	c.left.Store(true)
	c.from = failed{io.EOF}
	c.reads.forget()
	c.writes.forget()
	_ = c.Conn.SetDeadline(time.Time{}) // a broken connection shows when it is read
	on := &handed{Conn: c.Conn, place: c.place, from: h, tls: c.tls}
	on.line.conn = on
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
	if err := c.writes.begin(); err != nil {
		return 0, err
	}
	defer c.writes.end()
	return c.Conn.Write(p)
}

func (c *sniffed) Close() error {
	if c.left.Load() {
		return nil
	}
	defer c.place.leave()
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
	return c.reads.to(t)
}

func (c *sniffed) SetWriteDeadline(t time.Time) error {
	if c.left.Load() {
		return nil
	}
	return c.writes.to(t)
}

// handed is a connection that begins with what was read of it already.
type handed struct {
	net.Conn
	place *place
	from  *http2Start
	tls   *tls.ConnectionState // nil in clear
	line  line
}

func (c *handed) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.line.written.Add(int64(n))
	return n, err
}

func (c *handed) Close() error {
	defer c.place.leave()
	return c.Conn.Close()
}

func (c *handed) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.line.read.Add(int64(n))
	return n, err
}

// handshaken are the credentials of a gRPC server whose connections have been
// through their handshake.
type handshaken struct {
	credentials.TransportCredentials
}

func (h handshaken) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	on, ok := c.(*handed)
	if !ok {
		return h.TransportCredentials.ServerHandshake(c)
	}
	if on.tls != nil {
		info := credentials.TLSInfo{State: *on.tls, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
		return c, onLine{info, &on.line}, nil
	}
	_, info, err := h.TransportCredentials.ServerHandshake(c)
	return c, onLine{info, &on.line}, err
}

// failed is a reader that has failed.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// Of HTTP/2 (RFC 9113 sections 4 and 6) we know just enough to find the first
// request's content type.
const (
	frameHeader       = 9
	frameHeaders      = 1
	frameSettings     = 4
	framePing         = 6
	frameContinuation = 9

	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	maxFrame = 16 << 10 // as long as we have not allowed more
	maxPeek  = 128 << 10
)

// http2Start is an HTTP/2 connection up to its first request. Reading it gives
// the connection from its beginning, without what was ours to hear.
//
// Clients may wait for the server's SETTINGS before they send a request, as
// grpc-go does, so we send ours, which are empty, before whoever gets the
// connection sends its own. The client acknowledges both; the one for ours is
// taken out, for net/http closes a connection that acknowledges too much.
type http2Start struct {
	conn    net.Conn
	pending []byte // what is read again
	grpc    bool

	acked bool // our SETTINGS
	inner int  // bytes to come that have been looked at; while not acked
}

// peekHTTP2 reads conn, of which head has been read, to the end of the first
// request's header.
func peekHTTP2(conn net.Conn, head []byte) (*http2Start, error) {
	s := &http2Start{conn: conn, pending: head}
	if err := s.fill(len(clientPreface)); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(s.pending, clientPreface) {
		s.acked = true // not HTTP/2 after all, and we have said nothing
		return s, nil
	}
	if _, err := conn.Write([]byte{0, 0, 0, frameSettings, 0, 0, 0, 0, 0}); err != nil {
		return nil, err
	}
	// A client may connect now and call later.
	_ = conn.SetReadDeadline(time.Now().Add(idleTimeout))
	at := len(clientPreface)
	var block []byte
	for {
		if err := s.fill(at + frameHeader); err != nil {
			return nil, err
		}
		h := s.pending[at : at+frameHeader]
		kind, flags := h[3], h[4]
		size := int(binary.BigEndian.Uint32(h) >> 8)
		if size > maxFrame || at > maxPeek {
			s.acked = true
			return s, nil // wrong, or odd: net/http says how
		}
		end := at + frameHeader + size
		if err := s.fill(end); err != nil {
			return nil, err
		}
		payload := s.pending[at+frameHeader : end]
		switch kind {
		case frameSettings:
			if flags&flagAck != 0 && size == 0 && !s.acked {
				s.acked = true
				s.cut(at, end)
				continue
			}
		case framePing:
			if flags&flagAck == 0 && size == 8 {
				pong := append([]byte{0, 0, 8, framePing, flagAck, 0, 0, 0, 0}, payload...)
				if _, err := conn.Write(pong); err != nil {
					return nil, err
				}
				s.cut(at, end)
				continue
			}
		case frameHeaders, frameContinuation:
			if kind == frameHeaders {
				payload = fragment(payload, flags)
			}
			block = append(block, payload...)
			if flags&flagEndHeaders != 0 {
				s.grpc, s.inner = isGRPC(contentType(block)), end
				return s, nil
			}
		}
		at = end
	}
}

// fill reads until n bytes are pending.
func (s *http2Start) fill(n int) error {
	for len(s.pending) < n {
		if cap(s.pending)-len(s.pending) < 512 {
			s.pending = append(make([]byte, 0, max(2*len(s.pending), n, 2<<10)), s.pending...)
		}
		k, err := s.conn.Read(s.pending[len(s.pending):cap(s.pending)])
		s.pending = s.pending[:len(s.pending)+k]
		if err != nil && len(s.pending) < n {
			return err
		}
	}
	return nil
}

func (s *http2Start) cut(from, to int) {
	s.pending = append(s.pending[:from], s.pending[to:]...)
}

// fragment takes padding and priority off a HEADERS frame. Of one that is
// broken nothing is left.
func fragment(payload []byte, flags byte) []byte {
	pad := 0
	if flags&flagPadded != 0 {
		if len(payload) == 0 {
			return nil
		}
		pad, payload = int(payload[0]), payload[1:]
	}
	if flags&flagPriority != 0 {
		if len(payload) < 5 {
			return nil
		}
		payload = payload[5:]
	}
	return payload[:max(len(payload)-pad, 0)]
}

// contentType reads a header block; of one that is broken it is empty.
func contentType(block []byte) (value string) {
	d := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == "content-type" && value == "" {
			value = f.Value
		}
	})
	if _, err := d.Write(block); err != nil || d.Close() != nil {
		return ""
	}
	return value
}

// Read gives the connection from its beginning, without the acknowledgement of
// our SETTINGS. Frames are looked at one by one until it has come.
func (s *http2Start) Read(p []byte) (int, error) {
	for !s.acked && s.inner == 0 {
		if err := s.fill(frameHeader); err != nil {
			return 0, err
		}
		h := s.pending[:frameHeader]
		size := int(binary.BigEndian.Uint32(h) >> 8)
		if h[3] == frameSettings && h[4]&flagAck != 0 && size == 0 {
			s.acked = true
			s.pending = s.pending[frameHeader:]
			break
		}
		s.inner = frameHeader + size
	}
	if s.acked {
		if len(s.pending) == 0 {
			s.pending = nil
			return s.conn.Read(p)
		}
		n := copy(p, s.pending)
		s.pending = s.pending[n:]
		return n, nil
	}
	if err := s.fill(1); err != nil {
		return 0, err
	}
	n := copy(p[:min(len(p), s.inner)], s.pending)
	s.pending = s.pending[n:]
	s.inner -= n
	return n, nil
}
