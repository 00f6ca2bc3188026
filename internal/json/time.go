package json

import "time"

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
	const shape = "0000-00-00T00:00:00"
	if len(s) < len(shape) {
		return t, false
	}
	for i := range len(shape) {
		switch want := shape[i]; {
		case want == '0' && s[i]-'0' <= 9:
		case want == 'T' && (s[i] == 't' || s[i] == ' '): // RFC 3339 section 5.6 lets both pass
		case want != s[i]:
			return t, false
		}
	}
	year, month, day := int(pair(s[0:2])*100+pair(s[2:4])), pair(s[5:7]), pair(s[8:10])
	hour, minute, second := pair(s[11:13]), pair(s[14:16]), pair(s[17:19])
	milli, rest, ok := fraction(s[len(shape):])
	if !ok {
		return t, false
	}
	offset, ok := parseOffset(rest)
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	if int(t.Month()) != month || t.Day() != day { // time.Date moves 31 February and month 0
		return t, false
	}
	t = t.Add(-offset)
	return t, t.Year() >= 1 && t.Year() <= 9999
}

// pair returns the value of two digits.
func pair(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

// fraction reads an optional fraction of a second.
func fraction(s []byte) (milli int, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '.' {
		return 0, s, true
	}
	s = s[1:]
	n := 0
	for unit := 100; n < len(s) && s[n]-'0' <= 9; n++ {
		milli += int(s[n]-'0') * unit
		unit /= 10
	}
	return milli, s[n:], n > 0
}

// parseOffset reads Z, an offset such as +01:00, or nothing.
func parseOffset(s []byte) (offset time.Duration, ok bool) {
	switch len(s) {
	case 0:
		return 0, true
	case 1:
		return 0, s[0] == 'Z' || s[0] == 'z'
	case len("+00:00"):
	default:
		return 0, false
	}
	if s[3] != ':' || s[1]-'0' > 9 || s[2]-'0' > 9 || s[4]-'0' > 9 || s[5]-'0' > 9 {
		return 0, false
	}
	hours, minutes := pair(s[1:3]), pair(s[4:6])
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	switch s[0] {
	case '-':
		offset = -offset
	case '+':
	default:
		return 0, false
	}
	return offset, hours <= 23 && minutes <= 59
}
