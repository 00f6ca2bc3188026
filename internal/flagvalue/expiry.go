package flagvalue

import (
	"errors"
	"time"
)

// ParseExpiry parses the time at which something expires: a duration from now for ParseDuration,
// a date, or an RFC 3339 time.
func ParseExpiry(s string, now time.Time) (time.Time, error) {
	if d, err := ParseDuration(s); err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("must be a time from now such as 90d or 12h, or a date such as 2027-01-01, which begins at 00:00 UTC")
}
