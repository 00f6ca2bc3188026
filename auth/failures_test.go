package auth

import (
	"fmt"
	"testing"
	"time"
)

// clock is a failures with a clock for tests.
type clock struct {
	failures
	at time.Time
}

func newClock(limit int) *clock {
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.init(limit, func() time.Time { return c.at })
	return c
}

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

// guess fails once unless it has to wait, and returns that wait.
func (c *clock) guess(o origin) time.Duration {
	wait := c.wait(o)
	if wait == 0 {
		c.fail(o)
	}
	return wait
}

func TestWaitDoublesAndDecays(t *testing.T) {
	c := newClock(0)
	from := origin{address: "192.0.2.1"}
	for i := range 10 {
		if w := c.guess(from); w != 0 {
			t.Fatalf("guess %d waits %v", i, w)
		}
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		w := c.guess(from)
		if w != want*time.Second {
			t.Errorf("wait %d is %v, not %v", i, w, want*time.Second)
		}
		c.pass(w - 1)
		if w := c.wait(from); w != 1 {
			t.Errorf("just before the end of wait %d: %v", i, w)
		}
		c.pass(1)
		c.guess(from) // the one guess that is allowed after the wait
	}
	// Each quiet minute halves the time.
	c.pass(300*time.Second + 4*time.Minute)
	c.guess(from)
	if w := c.guess(from); w != 64*time.Second {
		t.Errorf("after four quiet minutes: %v", w)
	}
	c.pass(64*time.Second + 10*time.Minute)
	for i := range 10 {
		if w := c.guess(from); w != 0 {
			t.Errorf("after a long time guess %d waits %v", i, w)
		}
	}
}

func TestFewFailuresAMinuteAreNotSlowedDown(t *testing.T) {
	c := newClock(10)
	from := origin{address: "192.0.2.1"}
	for i := range 1000 {
		if w := c.guess(from); w != 0 {
			t.Fatalf("guess %d waits %v", i, w)
		}
		c.pass(7 * time.Second)
	}
}

func TestFailuresWithoutEnd(t *testing.T) {
	c := newClock(-1)
	for range 1000 {
		if w := c.guess(origin{"192.0.2.1", "ann"}); w != 0 {
			t.Fatal(w)
		}
	}
	if len(c.all) > 0 || len(c.known) > 0 {
		t.Error("it remembers")
	}
}

func TestAttemptsWhileWaitingDoNotProlong(t *testing.T) {
	c := newClock(1)
	from := origin{address: "192.0.2.1"}
	c.fail(from)
	for range 100 {
		c.fail(from) // fails at the same time as the one before
	}
	if w := c.wait(from); w != time.Second {
		t.Errorf("%v", w)
	}
}

func TestKnownPairs(t *testing.T) {
	c := newClock(3)
	home, out := origin{"192.0.2.1", "ann"}, origin{"192.0.2.9", "ann"}
	c.succeed(home)
	for range 3 {
		c.guess(out)
	}
	if c.wait(out) == 0 || c.wait(origin{"192.0.2.9", "bob"}) == 0 || c.wait(origin{"192.0.2.8", "ann"}) == 0 || c.wait(origin{address: "192.0.2.9"}) == 0 {
		t.Error("the guesser goes on with another user, or from elsewhere")
	}
	if c.wait(home) != 0 || c.wait(origin{"192.0.2.1", "bob"}) != 0 {
		t.Error("a caller that did not guess waits")
	}
	c.pass(knownFor)
	for range 3 {
		c.guess(out)
	}
	if c.wait(home) == 0 {
		t.Error("a day later home is still known")
	}
}

// Wrong keys from an address do not delay passwords from it.
func TestWrongKeysDoNotHoldUpPasswords(t *testing.T) {
	c := newClock(3)
	keys, ann := origin{address: "192.0.2.1"}, origin{"192.0.2.1", "ann"}
	for range 20 {
		c.guess(keys)
	}
	if c.wait(keys) == 0 || c.wait(ann) != 0 {
		t.Errorf("keys wait %v, passwords %v", c.wait(keys), c.wait(ann))
	}
	for range 3 {
		c.guess(ann)
	}
	if c.wait(ann) == 0 || c.wait(origin{"192.0.2.1", "bob"}) == 0 {
		t.Error("the guesser of passwords goes on")
	}
}

// An attacker with many addresses cannot make its earlier failures forgotten by using
// all of them.
func TestManyAddressesForgetNobody(t *testing.T) {
	c := newClock(10)
	guilty := origin{address: "192.0.2.1"}
	for range 10 {
		c.guess(guilty)
	}
	for range 3 {
		c.pass(c.wait(guilty))
		c.guess(guilty)
	}
	left := c.wait(guilty)
	for i := range 5 * maxFailed {
		c.fail(origin{address: fmt.Sprint("other ", i)})
	}
	if len(c.all) > maxFailed {
		t.Errorf("%d are remembered", len(c.all))
	}
	if w := c.wait(guilty); w != left {
		t.Errorf("%v are left of %v", w, left)
	}
	for i := range 2 * maxKnown {
		c.succeed(origin{"192.0.2.2", fmt.Sprint(i)})
	}
	if len(c.known) > maxKnown {
		t.Errorf("%d pairs are known", len(c.known))
	}
}

func TestAddressOf(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1:80":          "192.0.2.1",
		"192.0.2.1":             "192.0.2.1",
		"[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[2001:db8:1:2:3::4]:8": "2001:db8:1:2::/64",
		"2001:db8:1:2::":        "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":     "fe80::/64",
		"@":                     "@",
		"":                      "",
		"pipe":                  "pipe",
	} {
		if got := addressOf(from); got != want {
			t.Errorf("%q is %q, not %q", from, got, want)
		}
	}
}
