package wire

import (
	"net/http"
	"strings"
	"time"
)

// RetryAfter reads the value of a Retry-After header: seconds or a date. It is 0 if the
// date is past, or the value is invalid.
func RetryAfter(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if d, err := time.ParseDuration(v + "s"); err == nil {
		return max(d, 0)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
