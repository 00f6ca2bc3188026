package port

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// clientPreface begins every HTTP/2 connection (RFC 9113 section 3.4).
var clientPreface = []byte(http2.ClientPreface)

const (
	frameHeader = 9
	maxFrame    = 16 << 10 // as long as we have not allowed more
	maxHeaders  = 64 << 10 // of the first request
	maxPeek     = 128 << 10
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
	seen    bytes.Buffer  // what was read and has to be read again
	rest    *bufio.Reader // what follows
	content string        // content type of the first request

	acked bool // our SETTINGS were acknowledged
	inner int  // bytes to come of frames that have been looked at; used while not acked
}

// peekHTTP2 reads conn, of which head has been read, to the end of the first
// request's header.
func peekHTTP2(conn net.Conn, head []byte) (*http2Start, error) {
	// The buffer takes all of head at once.
	s := &http2Start{conn: conn, rest: bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), conn), max(2<<10, len(head)))}
	in := &io.LimitedReader{R: io.TeeReader(s.rest, &s.seen), N: maxPeek}
	if _, err := io.CopyN(io.Discard, in, int64(len(clientPreface))); err != nil {
		return nil, err
	}
	if !bytes.Equal(s.seen.Bytes(), clientPreface) {
		s.acked = true // not HTTP/2 after all, and we have said nothing
		return s, nil
	}
	f := http2.NewFramer(conn, in)
	f.SetMaxReadFrameSize(maxFrame)
	f.MaxHeaderListSize = maxHeaders
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := f.WriteSettings(); err != nil {
		return nil, err
	}
	// A client may connect now and call later.
	_ = conn.SetReadDeadline(time.Now().Add(IdleTimeout))
	for {
		at := s.seen.Len()
		frame, err := f.ReadFrame()
		switch {
		case err == nil:
		case errors.As(err, new(http2.StreamError)): // a broken request: net/http answers
			s.inner = s.seen.Len()
			return s, nil
		case errors.As(err, new(http2.ConnectionError)), errors.Is(err, http2.ErrFrameTooLarge), in.N == 0:
			s.acked = true // wrong, or unusual: net/http answers
			return s, nil
		default:
			return nil, err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if frame.IsAck() && !s.acked {
				s.acked = true
				s.seen.Truncate(at)
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				if err := f.WritePing(true, frame.Data); err != nil {
					return nil, err
				}
				s.seen.Truncate(at)
			}
		case *http2.MetaHeadersFrame:
			s.inner = s.seen.Len()
			for _, field := range frame.Fields {
				if field.Name == "content-type" && s.content == "" {
					s.content = field.Value
				}
			}
			return s, nil
		}
	}
}

// Read returns the connection from its beginning, without the acknowledgement of our
// SETTINGS. It looks at frames one by one until that has come.
func (s *http2Start) Read(p []byte) (n int, err error) {
	if !s.acked && s.inner == 0 {
		h, err := s.rest.Peek(frameHeader)
		if err != nil {
			return 0, err
		}
		size := int(binary.BigEndian.Uint32(h) >> 8)
		if s.acked = size == 0 && h[3] == byte(http2.FrameSettings) && http2.Flags(h[4]).Has(http2.FlagSettingsAck); s.acked {
			_, _ = s.rest.Discard(frameHeader) // all of it is there
		}
		s.inner = frameHeader + size
	}
	if s.acked && s.seen.Len() == 0 && (s.rest == nil || s.rest.Buffered() == 0) {
		s.seen, s.rest = bytes.Buffer{}, nil // they have done their work
		return s.conn.Read(p)
	}
	if !s.acked {
		p = p[:min(len(p), s.inner)]
	}
	if s.seen.Len() > 0 {
		n, err = s.seen.Read(p)
	} else {
		n, err = s.rest.Read(p)
	}
	s.inner -= n
	return n, err
}
