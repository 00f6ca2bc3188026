package wire

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"1":                              time.Second,
		"120":                            2 * time.Minute,
		"2147483647":                     2147483647 * time.Second,
		"9999999999":                     0,
		"99999999999999999999":           0,
		"-1":                             0,
		" 1.5 ":                          1500 * time.Millisecond,
		"soon":                           0,
		"0x10":                           0,
		"Fri, 02 Jan 2026 03:05:05 GMT":  time.Minute,
		"Friday, 02-Jan-26 03:05:05 GMT": time.Minute,
		"Fri Jan  2 03:05:05 2026":       time.Minute,
		"Fri, 02 Jan 2026 03:04:05 GMT":  0,
		"Thu, 01 Jan 1970 00:00:00 GMT":  0,
	} {
		if got := RetryAfter(v, at); got != want {
			t.Errorf("%q is %s, want %s", v, got, want)
		}
	}
}

// RetryAfter returns no time before now, whatever a peer sends.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "Fri, 02 Jan 2026 03:05:05 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "18446744073709551615"} {
		f.Add(s)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, v string) {
		if d := RetryAfter(v, at); d < 0 {
			t.Errorf("%q is %s", v, d)
		}
	})
}
