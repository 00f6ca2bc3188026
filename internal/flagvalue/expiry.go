package flagvalue

import (
	"errors"
	"time"
)

// Expiry is the time at which something expires: relative, or a date. The zero value is never.
type Expiry struct {
	after time.Duration
	at    time.Time
}

// Time returns the time of expiry; zero means never.
func (e *Expiry) Time(now time.Time) time.Time {
	if e.after > 0 {
		return now.Add(e.after)
	}
	return e.at
}

// ParseExpiry parses an Expiry: a duration for ParseDuration, a date, or an RFC 3339 time.
func ParseExpiry(s string) (Expiry, error) {
	if d, err := ParseDuration(s); err == nil && d > 0 {
		return Expiry{after: d}, nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, s); err == nil {
			return Expiry{at: at}, nil
		}
	}
	return Expiry{}, errors.New("must be a time from now such as 90d or 12h, or a date such as 2027-01-01, which begins at 00:00 UTC")
}
