package wire

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrMessageTooLarge means that a message is larger than the reader allows.
var ErrMessageTooLarge = errors.New("message too large")

// errCompressed means that the peer compresses, which nobody offered.
var errCompressed = errors.New("a message is compressed")

// prefix is the length of what precedes a message: a flag and a length.
const prefix = 5

// AppendMessage appends the prefix and the bytes of a gRPC message.
func AppendMessage(dst, message []byte) []byte {
	dst = append(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(message)))
	return append(dst, message...)
}

// Gathered is the body of a gRPC request for a reader that spends a buffer on each
// Read, however little it returns: a Read returns when p is full or a message ends, and
// sooner only with an error.
type Gathered struct {
	io.ReadCloser
	head [prefix]byte
	have int    // bytes of head that have come
	left uint32 // bytes of the message that have not
}

func (g *Gathered) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil && (n == 0 || g.have > 0 || g.left > 0) {
		var k int
		k, err = g.ReadCloser.Read(p[n:])
		g.pass(p[n : n+k])
		n += k
	}
	return n, err
}

func (g *Gathered) pass(b []byte) {
	for len(b) > 0 {
		if g.left > 0 {
			n := min(g.left, uint32(len(b)))
			g.left -= n
			b = b[n:]
			continue
		}
		n := copy(g.head[g.have:], b)
		b = b[n:]
		if g.have += n; g.have == prefix {
			g.have, g.left = 0, binary.BigEndian.Uint32(g.head[1:])
		}
	}
}

// MessageReader reads the messages of a gRPC call.
type MessageReader struct {
	r   io.Reader
	max int
}

// NewMessageReader returns a reader of r for messages of up to max bytes.
func NewMessageReader(r io.Reader, max int) *MessageReader { return &MessageReader{r, max} }

// Next returns the next message. The error is io.EOF at the end of the body,
// io.ErrUnexpectedEOF within a message, ErrMessageTooLarge, or the reader's.
func (m *MessageReader) Next() ([]byte, error) {
	var head [prefix]byte
	if _, err := io.ReadFull(m.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, errCompressed
	case int64(n) > int64(m.max):
		return nil, ErrMessageTooLarge
	}
	// The length is only a claim: memory grows with what arrives.
	message := make([]byte, 0, min(int(n), 64<<10))
	for len(message) < int(n) {
		if len(message) == cap(message) {
			message = append(message, 0)[:len(message)]
		}
		k, err := m.r.Read(message[len(message):min(cap(message), int(n))])
		message = message[:len(message)+k]
		if err == io.EOF && len(message) < int(n) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil && len(message) < int(n) {
			return nil, err
		}
	}
	return message, nil
}
