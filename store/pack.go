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
		dst = append(packHead(dst, &entries[i]), entries[i].Body...)
	}
	return dst
}

func packHead(dst []byte, e *Entry) []byte {
	dst = append(dst, e.Kind)
	dst = binary.AppendVarint(dst, e.Time.UnixMilli())
	return binary.AppendUvarint(dst, uint64(len(e.Body)))
}

// PackParts yields what Pack appends, in parts of about most bytes. Those of a body that
// is longer are not copied.
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
	return p.unpack(row, first, last, false)
}

// Keep is Unpack for a row that the page may keep: a body that is most of it is not copied.
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
