package postgres

import (
	"encoding/binary"
	"time"
)

// kind is the type of a column of a table: that of the array and of its elements,
// by their numbers in all databases.
type kind struct{ array, element uint32 }

var (
	booleans  = kind{1000, 16}
	byteas    = kind{1001, 17}
	smallints = kind{1005, 21}
	integers  = kind{1007, 23}
	bigints   = kind{1016, 20}
)

// table is rows as the arguments of a statement that unnests them: an array for
// each column, as the protocol has them in binary. Values are added row by row.
// pgx would do the same, with a call by an interface for each value.
type table struct {
	columns []column
	at      int // the column of the next value
	rows    int
}

type column struct {
	kind
	buf []byte
}

// arrayHead is the length of what comes before the elements of an array.
const arrayHead = 20

func newTable(kinds ...kind) *table {
	t := &table{columns: make([]column, len(kinds))}
	for i, k := range kinds {
		t.columns[i].kind = k
	}
	t.reset()
	return t
}

// bigColumn is how much memory a column keeps for the next rows.
const bigColumn = 1 << 20

// reset takes all rows away.
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

// bytes adds bytes; nil is the same as none.
func (t *table) bytes(v []byte) *table {
	c := t.next()
	c.buf = append(binary.BigEndian.AppendUint32(c.buf, uint32(len(v))), v...)
	return t
}

func (t *table) time(v time.Time) *table { return t.int8(v.UnixMilli()) }

// maybe adds a time, NULL where it is zero.
func (t *table) maybe(v time.Time) *table {
	if v.IsZero() {
		return t.null()
	}
	return t.time(v)
}

func (t *table) null() *table {
	c := t.next()
	c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff)
	c.buf[7] = 1 // there are NULLs
	return t
}

// arguments are the values of a statement.
type arguments struct {
	values [][]byte
	types  []uint32
}

// add adds the columns of a table. The table must not be reset before they are
// sent.
func (a *arguments) add(t *table) {
	for i := range t.columns {
		c := &t.columns[i]
		binary.BigEndian.PutUint32(c.buf[8:], c.element)
		if t.rows == 0 { // an array without a dimension
			a.one(c.array, c.buf[:12])
			continue
		}
		binary.BigEndian.PutUint32(c.buf[0:], 1) // dimensions
		binary.BigEndian.PutUint32(c.buf[12:], uint32(t.rows))
		binary.BigEndian.PutUint32(c.buf[16:], 1) // where it begins
		a.one(c.array, c.buf)
	}
}

func (a *arguments) one(kind uint32, value []byte) {
	a.types = append(a.types, kind)
	a.values = append(a.values, value)
}

func (a *arguments) reset() { *a = arguments{values: a.values[:0], types: a.types[:0]} }

// allBinary says that all values, or results, are binary.
var allBinary = []int16{1}
