package postgres

import (
	"encoding/binary"
	"time"
)

// kind is the type of a table's column: the OIDs of the array type and of its element type,
// which are the same in all databases.
type kind struct{ array, element uint32 }

var (
	booleans  = kind{1000, 16}
	byteas    = kind{1001, 17}
	smallints = kind{1005, 21}
	integers  = kind{1007, 23}
	bigints   = kind{1016, 20}
)

// table holds rows as arguments of a statement that unnests them: one array per column, in
// the protocol's binary format. Values are added row by row. pgx would do the same, but with
// an interface call for each value.
type table struct {
	columns []column
	at      int // column of the next value
	rows    int
}

type column struct {
	kind
	buf []byte
}

// arrayHead is the length of the header before the elements of an array.
const arrayHead = 20

func newTable(kinds ...kind) *table {
	t := &table{columns: make([]column, len(kinds))}
	for i, k := range kinds {
		t.columns[i].kind = k
	}
	t.reset()
	return t
}

// bigColumn is the largest buffer, in bytes, that a column keeps for reuse.
const bigColumn = 1 << 20

// reset removes all rows.
func (t *table) reset() {
	t.at, t.rows = 0, 0
	for i := range t.columns {
		c := &t.columns[i]
		if cap(c.buf) < arrayHead || cap(c.buf) > bigColumn {
			c.buf = make([]byte, arrayHead, 256)
		}
		c.buf = c.buf[:arrayHead]
		clear(c.buf)
	}
}

// next returns the column of the next value.
func (t *table) next() *column {
	c := &t.columns[t.at]
	if t.at++; t.at == len(t.columns) {
		t.at = 0
		t.rows++
	}
	return c
}

func (t *table) int8(v int64) *table {
	c := t.next()
	c.buf = binary.BigEndian.AppendUint64(append(c.buf, 0, 0, 0, 8), uint64(v))
	return t
}

func (t *table) int4(v int32) *table {
	c := t.next()
	c.buf = binary.BigEndian.AppendUint32(append(c.buf, 0, 0, 0, 4), uint32(v))
	return t
}

func (t *table) int2(v int16) *table {
	c := t.next()
	c.buf = binary.BigEndian.AppendUint16(append(c.buf, 0, 0, 0, 2), uint16(v))
	return t
}

func (t *table) bool(v bool) *table {
	c := t.next()
	b := byte(0)
	if v {
		b = 1
	}
	c.buf = append(c.buf, 0, 0, 0, 1, b)
	return t
}

func (t *table) text(v string) *table {
	c := t.next()
	c.buf = append(binary.BigEndian.AppendUint32(c.buf, uint32(len(v))), v...)
	return t
}

// bytes adds bytes; nil becomes empty bytes.
func (t *table) bytes(v []byte) *table {
	c := t.next()
	c.buf = append(binary.BigEndian.AppendUint32(c.buf, uint32(len(v))), v...)
	return t
}

func (t *table) time(v time.Time) *table { return t.int8(v.UnixMilli()) }

// maybe adds a time, or NULL if it is zero.
func (t *table) maybe(v time.Time) *table {
	if v.IsZero() {
		return t.null()
	}
	return t.time(v)
}

func (t *table) null() *table {
	c := t.next()
	c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff)
	c.buf[7] = 1 // flag: there are NULLs
	return t
}

// arguments holds the values and types of a statement's arguments.
type arguments struct {
	values [][]byte
	types  []uint32
}

// add adds the columns of a table. The table must not be reset before the arguments are sent.
func (a *arguments) add(t *table) {
	for i := range t.columns {
		c := &t.columns[i]
		binary.BigEndian.PutUint32(c.buf[8:], c.element)
		if t.rows == 0 { // an array without dimensions
			a.one(c.array, c.buf[:12])
			continue
		}
		binary.BigEndian.PutUint32(c.buf[0:], 1) // number of dimensions
		binary.BigEndian.PutUint32(c.buf[12:], uint32(t.rows))
		binary.BigEndian.PutUint32(c.buf[16:], 1) // lower bound
		a.one(c.array, c.buf)
	}
}

func (a *arguments) one(kind uint32, value []byte) {
	a.types = append(a.types, kind)
	a.values = append(a.values, value)
}

func (a *arguments) reset() { *a = arguments{values: a.values[:0], types: a.types[:0]} }

// allBinary says that all arguments, or all results, are binary.
var allBinary = []int16{1}
