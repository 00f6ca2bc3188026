package json

import (
	"bytes"
	"time"
)

// AppendTime appends a timestamp in its form on the wire (A2A specification §5.6.1):
// RFC 3339 in UTC with exactly three digits of a second.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	milli := t.Nanosecond() / int(time.Millisecond)
	from := len(b) + 1
	b = append(b, `"0000-00-00T00:00:00.000Z"`...)
	d := b[from : from+len("0000-00-00T00:00:00.000")]
	putPair(d[0:], year/100)
	putPair(d[2:], year)
	putPair(d[5:], int(month))
	putPair(d[8:], day)
	putPair(d[11:], hour)
	putPair(d[14:], minute)
	putPair(d[17:], second)
	d[20] = byte('0' + milli/100)
	putPair(d[21:], milli)
	return b
}

// putPair writes the last two decimal digits of v.
func putPair(d []byte, v int) { d[0], d[1] = byte('0'+v/10%10), byte('0'+v%10) }

// ParseTime reads a timestamp: RFC 3339 with any offset and any fraction, which is cut
// after milliseconds. One without an offset is read as UTC, because some peers leave it
// out.
func ParseTime(s []byte) (t time.Time, ok bool) {
	const date, second = len("2006-01-02"), len("2006-01-02T15:04:05")
	var room [64]byte // for more digits of a second than anybody writes
	if len(s) < second || len(s) > len(room)-len("Z") {
		return t, false
	}
	// Package time also reads hours of one digit, fractions after a comma, and offsets of
	// 60 minutes or 24 hours.
	if s[date+len("T15")] != ':' || bytes.IndexByte(s, ',') >= 0 || bytes.HasSuffix(s, []byte(":60")) {
		return t, false
	}
	s = append(room[:0], s...)
	if s[date] == 't' || s[date] == ' ' { // RFC 3339 section 5.6 lets both pass
		s[date] = 'T'
	}
	switch end := &s[len(s)-1]; {
	case *end == 'z':
		*end = 'Z'
	case *end != 'Z' && !bytes.ContainsAny(s[second:], "+-"):
		s = append(s, 'Z')
	}
	err := t.UnmarshalText(s)
	_, offset := t.Zone()
	t = t.UTC().Truncate(time.Millisecond)
	return t, err == nil && max(offset, -offset) < 24*60*60 && t.Year() >= 1 && t.Year() <= 9999
}
