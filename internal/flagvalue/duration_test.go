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

func TestDurationsAreShownShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 30 * time.Second: "30s", time.Minute: "1m", 90 * time.Second: "1m30s", 10 * time.Hour: "10h", 90 * time.Minute: "1h30m",
		time.Hour + 5*time.Second: "1h0m5s", 24 * time.Hour: "24h", 720 * time.Hour: "30d", 36 * time.Hour: "36h", -time.Minute: "-1m",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
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
		for _, text := range []string{d.String(), FormatDuration(d)} {
			if again, err := ParseDuration(text); err != nil || again != d {
				t.Errorf("%q is %v, which is %s, %v, %v", s, d, text, again, err)
			}
		}
	})
}
