package port

import (
	"bytes"
	"encoding/binary"
	"net"
	"time"

	"golang.org/x/net/http2/hpack"
)

// clientPreface begins every HTTP/2 connection (RFC 9113 section 3.4).
var clientPreface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// We know just enough of HTTP/2 (RFC 9113 sections 4 and 6) to find the content type of
// the first request.
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

// http2Start is an HTTP/2 connection that has been read up to its first request. Read
// returns its bytes from the beginning, without those that were meant for us.
//
// Clients may wait for the server's SETTINGS before they send a request, as grpc-go
// does. So we send empty ones, before the server that gets the connection sends its
// own. The client acknowledges both. The acknowledgement of ours is removed, because
// net/http closes a connection that acknowledges too much.
type http2Start struct {
	conn    net.Conn
	pending []byte // bytes to be read again
	content string // content type of the first request

	acked bool // our SETTINGS were acknowledged
	inner int  // bytes to come of frames that have been looked at; used while not acked
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
	_ = conn.SetReadDeadline(time.Now().Add(IdleTimeout))
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
			return s, nil // wrong, or unusual: net/http answers
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
				s.content, s.inner = contentType(block), end
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

// fragment removes padding and priority from a HEADERS frame. Of a broken frame it
// returns nothing.
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

// contentType returns the content type in a header block; of a broken block it is
// empty.
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

// Read returns the connection from its beginning, without the acknowledgement of our
// SETTINGS. It looks at frames one by one until that has come.
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
