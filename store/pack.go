package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"time"
)

// Drivers store the entries of an append in one piece, one after another, each as
//
//	kind    1 byte
//	time    zigzag varint, milliseconds since 1970
//	length  varint
//	body    length bytes
//
// The first and last seq are stored beside it; there are no gaps in between.

var errPacked = errors.New("store: a piece of a log is damaged")

// Pack appends the framed entries to dst.
func Pack(dst []byte, entries []Entry) []byte {
	size := 0
	for i := range entries {
		size += packedSize(&entries[i])
	}
	dst = slices.Grow(dst, size)
	for i := range entries {
		dst = append(packHead(dst, &entries[i]), entries[i].Body...)
	}
	return dst
}

func packHead(dst []byte, e *Entry) []byte {
	dst = append(dst, e.Kind)
	dst = binary.AppendVarint(dst, e.Time.UnixMilli())
	return binary.AppendUvarint(dst, uint64(len(e.Body)))
}

// PackParts yields what Pack appends, in parts of about most bytes. It does not copy bodies
// longer than that.
func PackParts(entries []Entry, most int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		left := 0
		for i := range entries {
			left += packedSize(&entries[i])
		}
		var part []byte
		for i := range entries {
			e, size := &entries[i], packedSize(&entries[i])
			if len(part)+size <= most {
				if part == nil {
					part = make([]byte, 0, min(left, most))
				}
				part = append(packHead(part, e), e.Body...)
				left -= size
				continue
			}
			if !yield(packHead(part, e)) {
				return
			}
			part = nil
			left -= size
			for p := range slices.Chunk(e.Body, most) {
				if !yield(p) {
					return
				}
			}
		}
		if len(part) > 0 {
			yield(part)
		}
	}
}

// packedSize is the size of an entry as Pack frames it, in bytes.
func packedSize(e *Entry) int {
	var b [binary.MaxVarintLen64]byte
	return 1 + binary.PutVarint(b[:], e.Time.UnixMilli()) + binary.PutUvarint(b[:], uint64(len(e.Body))) + len(e.Body)
}

// Unpack appends to dst the entries with Seq > after of a row that Pack wrote. It copies
// their bodies out of row. A row that does not hold exactly the entries first to last is an
// error.
func Unpack(dst []Entry, row []byte, first, last, after int64) ([]Entry, error) {
	p := EntryPage{Entries: dst, after: after, most: math.MaxInt}
	err := p.Unpack(row, first, last)
	return p.Entries, err
}

// Unpack adds the entries of a row to the page until it is full. See the function Unpack.
func (p *EntryPage) Unpack(row []byte, first, last int64) error {
	return p.unpack(row, first, last, false)
}

// Keep is Unpack for a row whose memory the page may keep: it does not copy a body that is at
// least half of the row.
func (p *EntryPage) Keep(row []byte, first, last int64) error {
	return p.unpack(row, first, last, true)
}

func (p *EntryPage) unpack(row []byte, first, last int64, keep bool) error {
	whole := uint64(len(row))
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
			if e.Body = row[:size:size]; !keep || size < whole/2 {
				e.Body = bytes.Clone(e.Body)
			}
			p.add(e)
		}
		row = row[size:]
	}
	if len(row) > 0 {
		return errPacked
	}
	return nil
}
