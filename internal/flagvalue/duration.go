package flagvalue

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

const maxDays = 100_000

var errDuration = errors.New("must be a duration such as 500ms, 90s, 12h or 30d")

// ParseDuration parses a duration as time.ParseDuration does, with optional whole days of 24
// hours before it, as in 30d or 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		days, rest = "0", s
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(days, "-"), 10, 32)
	if err != nil || n > maxDays || ok && strings.ContainsAny(rest, "+-") {
		return 0, errDuration
	}
	var d time.Duration
	if rest != "" || !ok {
		if d, err = time.ParseDuration(rest); err != nil {
			return 0, errDuration
		}
	}
	whole := time.Duration(n)*24*time.Hour + d
	if n > 0 && whole < d {
		return 0, errDuration
	}
	if ok && strings.HasPrefix(days, "-") {
		whole = -whole
	}
	return whole, nil
}

// Span returns a value for any duration, with the default in *to.
func Span(to *time.Duration) *Value { return Of("duration", to, ParseDuration, FormatDuration) }

// Duration returns a value for a positive duration; a plain number means seconds.
func Duration(to *time.Duration) *Value {
	return Of("duration", to, func(s string) (time.Duration, error) {
		d, err := ParseDuration(s)
		if err != nil {
			d, err = ParseDuration(s + "s")
		}
		if err != nil || d <= 0 {
			return 0, errors.New("must be a positive duration such as 500ms, 90s, 5m or 30d")
		}
		return d, nil
	}, showDuration)
}

// showDuration formats zero as "", so that help shows no default.
func showDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return FormatDuration(d)
}

// FormatDuration formats a duration for ParseDuration, in days if it is whole days, and without
// parts that are zero.
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d > day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
