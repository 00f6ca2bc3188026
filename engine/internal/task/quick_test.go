package task

import (
	"testing"
	"time"
)

// An owner that found yielding slow keeps the others from it, long enough that all
// of them lose little, and at most a second.
func TestCrowd(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var c crowd
	if c.here(now) {
		t.Error("crowded before anybody yielded")
	}
	c.met(now.Add(time.Hour), time.Second)
	if c.here(now) {
		t.Error("crowded since a clock was set back")
	}
	for _, test := range []struct{ spent, rest time.Duration }{
		{2 * time.Millisecond, 100 * time.Millisecond},
		{time.Minute, time.Second},
	} {
		c.met(now, test.spent)
		now = now.Add(test.spent)
		if at := now.Add(test.rest - 1); !c.here(at) {
			t.Errorf("after a yield of %v: not crowded after %v", test.spent, test.rest)
		}
		if now = now.Add(test.rest); c.here(now) {
			t.Errorf("after a yield of %v: still crowded after %v", test.spent, test.rest)
		}
	}
}
