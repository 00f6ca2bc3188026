package a2a

import "time"

// appendTime appends a timestamp as the wire has it (specification §5.6.1):
// RFC 3339 in UTC with exactly three digits of a second.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = append(b, '"')
	b = digits(b, year, 4)
	b = digits(append(b, '-'), int(month), 2)
	b = digits(append(b, '-'), day, 2)
	b = digits(append(b, 'T'), hour, 2)
	b = digits(append(b, ':'), minute, 2)
	b = digits(append(b, ':'), second, 2)
	b = digits(append(b, '.'), t.Nanosecond()/int(time.Millisecond), 3)
	return append(b, 'Z', '"')
}

// digits appends the last n decimal digits of v.
func digits(b []byte, v, n int) []byte {
	from := len(b)
	b = append(b, "0000"[:n]...)
	for i := from + n - 1; i >= from; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

// time reads a timestamp: RFC 3339 with any offset and any fraction, which is
// cut after milliseconds. One without an offset is read as UTC, since peers
// exist that leave it out. null is the zero time.
func (d *decoder) time(p *time.Time) *fault {
	*p = time.Time{}
	if d.null() {
		return nil
	}
	if d.peek() != '"' {
		return d.expected("a timestamp")
	}
	s, escaped := d.quoted()
	if escaped {
		s = unescape(nil, s)
	}
	t, ok := parseTime(s)
	if !ok {
		return faultf("expected a timestamp such as 2026-01-02T03:04:05.678Z, got %s", excerpt(s))
	}
	*p = t
	return nil
}

func parseTime(s []byte) (t time.Time, ok bool) {
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
	year, month, day := int(number(s[0:2])*100+number(s[2:4])), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	milli, rest, ok := fraction(s[len(shape):])
	if !ok {
		return t, false
	}
	offset, ok := parseOffset(rest)
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	if int(t.Month()) != month || t.Day() != day { // 31 February and month 0 wander
		return t, false
	}
	t = t.Add(-offset)
	return t, t.Year() >= 1 && t.Year() <= 9999
}

// number returns the value of two digits.
func number(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

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
	hours, minutes := number(s[1:3]), number(s[4:6])
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
