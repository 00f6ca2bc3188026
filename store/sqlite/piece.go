package sqlite

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/s2"
	"github.com/parley-a2a/parley/store"
)

// A sealed task has its seal and the last entries of its log in its own row, as one piece. So
// a quick task, which is sealed by its first append, is a single row. Head, body and entries
// contain the same words, so they are compressed together. Uncompressed, a piece is
//
//	head    as long as the row's head_size says
//	body    as long as its body_size says
//	first   varint, the seq of the first entry
//	entries framed as store.Pack does, up to the row's last
//
// A byte before the piece says how it is compressed.
const byWords = 1

// Pieces are limited to a small size, because lists read one row after the other.
const (
	maxPiece = 2 << 10  // bytes, compressed
	maxClear = 16 << 10 // bytes, uncompressed
)

// words is the compression dictionary: typical heads, bodies and entries of the engine.
// Pieces in databases depend on it, so it must not change; other words need another number.
const words = `"TASK_STATE_FAILED","TASK_STATE_CANCELED","TASK_STATE_REJECTED","metadata":{"mediaType":"application/octet-stream","filename":"` +
	`"append":true,"TASK_STATE_WORKING","message":{"role":"ROLE_AGENT","data":{` +
	`{"generation":3,"messages":1,"history":176,"metadata":392,"task":{"id":"01900000-0000-7000-8000-000000000000","contextId":"01900000-0000-7000-8000-000000000000",` +
	`"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-11-26T00:00:00.000Z"},"history":[{"messageId":"","contextId":"","taskId":"","role":"ROLE_USER","parts":[{"text":""}]}]}}` +
	`{"artifacts":[{"artifactId":"","name":"","parts":[{"text":""}]}]}{"taskId":"","contextId":""}{"message":{"messageId":"` +
	`{"artifactUpdate":{"taskId":"","contextId":"","artifact":{"artifactId":""}]},"lastChunk":true,"generation":"2"}}` +
	`{"statusUpdate":{"taskId":"","contextId":"","status":{"state":"TASK_STATE_COMPLETED","timestamp":""},"generation":"3"}}`

const firstWord = `{"generation":`

var dictionary = s2.MakeDict([]byte(words), []byte(firstWord))

var errPiece = errors.New("a sealed task is damaged")

// piece returns the piece for a sealed task's row, or nil if the append does not fit in one.
// It is valid until the next call.
func (s *Store) piece(a *store.Append) []byte {
	if a.Seal == nil || a.Seal.Size() > maxClear {
		return nil
	}
	b := append(s.clear[:0], a.Seal.Head...)
	b = append(b, a.Seal.Body...)
	b = binary.AppendUvarint(b, uint64(a.After+1))
	size := len(b)
	for i := range a.Entries {
		size += len(a.Entries[i].Body)
	}
	if size > maxClear {
		return nil
	}
	s.clear = store.Pack(b, a.Entries)
	return s.squeeze()
}

// squeeze compresses s.clear, or returns nil if it is too large. The piece is valid until the
// next call.
func (s *Store) squeeze() []byte {
	if len(s.clear) > maxClear {
		return nil
	}
	if s.squeezed == nil {
		s.squeezed = make([]byte, 1+s2.MaxEncodedLen(maxClear))
	}
	s.squeezed[0] = byWords
	n := len(dictionary.Encode(s.squeezed[1:], s.clear))
	if n >= maxPiece {
		return nil
	}
	return s.squeezed[:1+n]
}

// sealOf returns the seal in a piece. head and body are the sizes of its parts; with body < 0
// it returns only the head.
func sealOf(piece []byte, head, body int) (*store.Seal, error) {
	if head < 0 || max(head, body) > maxClear {
		return nil, errPiece
	}
	b := make([]byte, head+max(body, 0))
	if err := expand(b, piece); err != nil {
		return nil, err
	}
	s := &store.Seal{Head: b[:head:head]}
	if body >= 0 {
		s.Body = b[head:]
	}
	return s, nil
}

// logOf returns the entries in a piece, framed, and the seq of the first. They are valid
// until the next call.
func (c *conn) logOf(piece []byte, seal int) (packed []byte, first int64, err error) {
	n := sizeOf(piece)
	if seal < 0 || seal > n {
		return nil, 0, errPiece
	}
	if n > len(c.clear) {
		c.clear = make([]byte, max(n, 2<<10))
	}
	b := c.clear[:n]
	if err := expand(b, piece); err != nil {
		return nil, 0, err
	}
	at, n := binary.Uvarint(b[seal:])
	if n <= 0 {
		return nil, 0, errPiece
	}
	return b[seal+n:], int64(at), nil
}

// sizeOf returns the uncompressed length of a piece, or -1 if it is damaged.
func sizeOf(piece []byte) int {
	if len(piece) == 0 || piece[0] != byWords {
		return -1
	}
	if n, err := s2.DecodedLen(piece[1:]); err == nil && n <= maxClear {
		return n
	}
	return -1
}
