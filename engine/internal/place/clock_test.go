package place

import (
	"testing"
	"time"
)

// Of two readings of a clock that agree the more certain one stays; one that
// cannot be true any more goes.
func TestClockReadings(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var c clock
	set := func(ahead, took time.Duration) time.Duration {
		asked := at
		at = at.Add(took)
		return c.set(asked.Add(took/2+ahead), asked, at)
	}
	ahead := func() time.Duration { return c.now(at).Sub(at) }
	set(time.Hour, 10*time.Millisecond)
	if got := ahead(); got < time.Hour || got > time.Hour+10*time.Millisecond {
		t.Errorf("ahead by %v", got)
	}
	was := ahead()
	if jumped := set(time.Hour+time.Second, 5*time.Second); jumped != 0 || ahead() != was {
		t.Errorf("a slow answer counts: %v, %v", jumped, ahead())
	}
	if set(time.Hour+3*time.Millisecond, 2*time.Millisecond); ahead() == was {
		t.Error("a quick answer does not count")
	}
	if jumped := set(2*time.Hour, 2*time.Second); jumped < 59*time.Minute || ahead() < 119*time.Minute {
		t.Errorf("a leap was not seen: %v, %v", jumped, ahead())
	}
	at = at.Add(24 * time.Hour) // then the old one is not certain any more
	was = ahead()
	if set(2*time.Hour+20*time.Second, 4*time.Second); ahead() == was {
		t.Error("a reading stays for ever")
	}
}
