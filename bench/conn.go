package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"
)

// conn is one kept connection that speaks just enough HTTP/1.1. It costs the
// generator a fraction of what net/http's client does, so that one core of it is
// enough for one core of any server. It is for one goroutine.
type conn struct {
	addr  string
	c     net.Conn
	r     *bufio.Reader
	lines *bufio.Reader // of a stream's body, made when needed
	out   []byte        // the request that is written
	body  []byte        // the answer, until the next one
	begun func()        // is called when a stream has begun; may be nil
}

// Sizes of a conn's read buffer.
const (
	wide   = 64 << 10
	narrow = 2 << 10 // for thousands of them that are mostly idle
)

// dial connects. Nothing on the connection takes longer than until: a server
// that hangs is an error, not a bench that hangs.
func dial(ctx context.Context, addr string, buffer int, until time.Time) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(until); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{addr: addr, c: c, r: bufio.NewReaderSize(c, buffer)}, nil
}

func (c *conn) close() { _ = c.c.Close() } // there is nothing to lose

// call is one HTTP request.
type call struct {
	get     bool
	path    string
	version string // of A2A; "" does not say
	stream  bool
	body    []byte
}

func (c *conn) write(q *call) error {
	b := c.out[:0]
	if q.get {
		b = append(b, "GET "...)
	} else {
		b = append(b, "POST "...)
	}
	b = append(b, q.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, c.addr...)
	if q.version != "" {
		b = append(b, "\r\nA2A-Version: "...)
		b = append(b, q.version...)
	}
	if q.stream {
		b = append(b, "\r\nAccept: text/event-stream"...)
	}
	if !q.get {
		b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(q.body)), 10)
	}
	b = append(b, "\r\n\r\n"...)
	c.out = append(b, q.body...)
	_, err := c.c.Write(c.out)
	return err
}

// head is what matters of an answer's head.
type head struct {
	status  int
	length  int // -1 if it is not said
	chunked bool
	events  bool
}

func (c *conn) head() (h head, err error) {
	h.length = -1
	line, err := c.line()
	if err != nil {
		return h, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return h, fmt.Errorf("the answer begins with %.40q", line)
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, fmt.Errorf("the answer begins with %.40q", line)
	}
	for {
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return h, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case equal(name, "content-length"):
			if h.length, err = strconv.Atoi(string(value)); err != nil {
				return h, fmt.Errorf("Content-Length: %.40q", value)
			}
		case equal(name, "transfer-encoding"):
			h.chunked = equal(value, "chunked")
		case equal(name, "content-type"):
			h.events = bytes.HasPrefix(value, []byte("text/event-stream"))
		}
	}
}

func equal(b []byte, s string) bool { return len(b) == len(s) && bytes.EqualFold(b, []byte(s)) }

// line returns a line of the head, without its end.
func (c *conn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

// do returns the body of an answer, which is valid until the next call. Anything
// but 200 is an error.
func (c *conn) do(q *call) ([]byte, error) {
	if err := c.write(q); err != nil {
		return nil, err
	}
	h, err := c.head()
	if err != nil {
		return nil, fmt.Errorf("answer to %s: %w", q.path, err)
	}
	c.body = c.body[:0]
	switch {
	case h.chunked:
		err = c.readChunks()
	case h.length >= 0:
		c.body = slices.Grow(c.body, h.length)[:h.length]
		_, err = io.ReadFull(c.r, c.body)
	default:
		err = errors.New("an answer without a length")
	}
	if err == nil && h.status != 200 {
		err = fmt.Errorf("status %d: %.400q", h.status, c.body)
	}
	return c.body, err
}

func (c *conn) readChunks() error {
	k := chunks{r: c.r}
	for {
		if len(c.body) == cap(c.body) {
			c.body = append(c.body, 0)[:len(c.body)]
		}
		n, err := k.Read(c.body[len(c.body):cap(c.body)])
		c.body = c.body[:len(c.body)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// events sends q and hands on the data of each event of the answer. It returns
// when the stream has ended, or with each's error. The connection can be used
// again only after nil.
func (c *conn) events(q *call, each func(data []byte) error) error {
	if err := c.write(q); err != nil {
		return err
	}
	h, err := c.head()
	if err != nil {
		return fmt.Errorf("answer to %s: %w", q.path, err)
	}
	if h.status != 200 || !h.events || !h.chunked {
		b := make([]byte, 400)
		n, _ := io.ReadAtLeast(c.r, b, max(1, min(len(b), h.length)))
		return fmt.Errorf("no stream of events, but status %d: %q", h.status, b[:n])
	}
	if c.begun != nil {
		c.begun()
	}
	body := &chunks{r: c.r}
	if c.lines == nil {
		c.lines = bufio.NewReaderSize(body, c.r.Size())
	} else {
		c.lines.Reset(body)
	}
	for {
		line, err := c.lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			c.body = append(c.body[:0], line...)
			var rest []byte
			rest, err = c.lines.ReadBytes('\n')
			c.body = append(c.body, rest...)
			line = c.body
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if data, is := bytes.CutPrefix(line, []byte("data:")); is {
			if err := each(bytes.TrimSpace(data)); err != nil {
				return err
			}
		}
	}
}

// chunks reads a chunked body to its end, the last CRLF included.
type chunks struct {
	r    *bufio.Reader
	left int
	open bool // a chunk's CRLF is to be read
	done bool
}

func (k *chunks) Read(p []byte) (int, error) {
	for k.left == 0 {
		if k.done {
			return 0, io.EOF
		}
		if k.open {
			if _, err := k.r.Discard(2); err != nil {
				return 0, unexpected(err)
			}
			k.open = false
		}
		line, err := k.r.ReadSlice('\n')
		if err != nil {
			return 0, unexpected(err)
		}
		size, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
		n, err := strconv.ParseUint(string(size), 16, 31)
		if err != nil {
			return 0, fmt.Errorf("a chunk of size %.20q", size)
		}
		if n == 0 {
			if _, err := k.r.Discard(2); err != nil {
				return 0, unexpected(err)
			}
			k.done = true
			continue
		}
		k.left, k.open = int(n), true
	}
	n, err := k.r.Read(p[:min(len(p), k.left)])
	k.left -= n
	return n, unexpected(err)
}

// unexpected is for ends where there must be none: a stream that is cut has not
// ended.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
