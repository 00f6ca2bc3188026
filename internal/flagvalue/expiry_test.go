package flagvalue

import (
	"testing"
	"time"
)

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90d": now.Add(90 * 24 * time.Hour), "12h": now.Add(12 * time.Hour), "1h30m": now.Add(90 * time.Minute),
		"2027-01-01": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "2027-01-01T10:00:00+02:00": time.Date(2027, 1, 1, 8, 0, 0, 0, time.UTC),
	} {
		if at, err := ParseExpiry(text, now); err != nil || !at.Equal(want) {
			t.Errorf("%s is %v, %v", text, at, err)
		}
	}
	for _, text := range []string{"", "0d", "-1d", "d", "9d9", "1.5d", "-1h", "0", "90", "2027-13-01", "01.01.2027", "999999999d"} {
		if at, err := ParseExpiry(text, now); err == nil {
			t.Errorf("%q is %v", text, at)
		}
	}
}
