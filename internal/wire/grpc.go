package wire

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrMessageTooLarge means that a message is larger than the reader allows.
var ErrMessageTooLarge = errors.New("message too large")

// errCompressed means that the peer used what nobody offered.
var errCompressed = errors.New("a message is compressed")

// prefix is the length of what stands before a message: a flag and a length.
const prefix = 5

// AppendMessage appends the prefix and the bytes of a gRPC message.
func AppendMessage(dst, message []byte) []byte {
	dst = append(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(message)))
	return append(dst, message...)
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
	// The length is a claim: memory grows with what comes.
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
