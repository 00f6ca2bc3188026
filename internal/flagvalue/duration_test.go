package flagvalue

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "1d12h": 36 * time.Hour, "0d": 0, "0": 0, "500ms": 500 * time.Millisecond, "720h": 30 * day, "1h30m": 90 * time.Minute, "-5s": -5 * time.Second, "-2d": -2 * day,
	} {
		if d, err := ParseDuration(text); err != nil || d != want {
			t.Errorf("%s is %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "30", "30 d", "d30", "1d-2h", "1d2d", "100001d", "99999d2562047h", "1w", "+1d"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
	var plain time.Duration
	if err := Duration(&plain).Set("90"); err != nil || plain != 90*time.Second {
		t.Errorf("%v, %v", plain, err)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"30d", "1d12h", "5m", "-1d", "9223372036854775807ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q is %v, which is %v, %v", s, d, again, err)
		}
	})
}
