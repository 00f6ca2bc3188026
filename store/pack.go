package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// Drivers keep the entries of an append in one piece, one after the other, each
//
//	kind    1 byte
//	time    zigzag varint, milliseconds since 1970
//	length  varint
//	body    length bytes
//
// The first and last seq are beside it; there are no gaps in between.

var errPacked = errors.New("store: a piece of a log is damaged")

// Pack appends the framed entries to dst.
func Pack(dst []byte, entries []Entry) []byte {
	size := 0
	for i := range entries {
		size += packedSize(&entries[i])
	}
	dst = slices.Grow(dst, size)
	for i := range entries {
		e := &entries[i]
		dst = append(dst, e.Kind)
		dst = binary.AppendVarint(dst, e.Time.UnixMilli())
		dst = binary.AppendUvarint(dst, uint64(len(e.Body)))
		dst = append(dst, e.Body...)
	}
	return dst
}

// packedSize is how many bytes Pack makes of an entry.
func packedSize(e *Entry) int {
	var b [binary.MaxVarintLen64]byte
	return 1 + binary.PutVarint(b[:], e.Time.UnixMilli()) + binary.PutUvarint(b[:], uint64(len(e.Body))) + len(e.Body)
}

// Unpack appends to dst the entries of what Pack wrote with Seq > after. It copies their
// bodies out of row. A row that does not hold exactly first to last is an
// error.
func Unpack(dst []Entry, row []byte, first, last, after int64) ([]Entry, error) {
	p := EntryPage{Entries: dst, after: after, most: math.MaxInt}
	err := p.Unpack(row, first, last)
	return p.Entries, err
}

// Unpack is the function of this name for the entries that the page has room for.
func (p *EntryPage) Unpack(row []byte, first, last int64) error {
	for seq := first; seq <= last; seq++ {
		if len(row) == 0 {
			return errPacked
		}
		e := Entry{Seq: seq, Kind: row[0]}
		row = row[1:]
		ms, n := binary.Varint(row)
		if n <= 0 {
			return errPacked
		}
		row = row[n:]
		size, n := binary.Uvarint(row)
		if n <= 0 || size > uint64(len(row)-n) {
			return errPacked
		}
		row = row[n:]
		if seq > p.after && !p.Full() {
			e.Time = time.UnixMilli(ms).UTC()
			e.Body = bytes.Clone(row[:size])
			p.add(e)
		}
		row = row[size:]
	}
	if len(row) > 0 {
		return errPacked
	}
	return nil
}
