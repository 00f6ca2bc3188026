package place

import (
	"sync/atomic"
	"time"
)

// clock is the time by which processes that share a store agree: the store's.
// Stored times are of this clock, and it decides when a process counts as dead.
// The clocks of their machines may differ by hours.
type clock struct {
	read atomic.Pointer[reading]
}

// reading is what the store said.
type reading struct {
	local  time.Time
	theirs time.Time     // at the same moment, give or take
	within time.Duration // this
}

// drift is how much of the time that has passed two clocks may differ by.
const drift = 1000

// now returns the time at a moment of this machine's clock, with its finer digits.
func (c *clock) now(local time.Time) time.Time {
	if r := c.read.Load(); r != nil {
		return r.at(local)
	}
	return local
}

func (r *reading) at(local time.Time) time.Time { return r.theirs.Add(local.Sub(r.local)) }

// set notes what the store answered to a question that was asked at one moment
// and answered at another. Of two readings that agree the one stays that is more
// certain. jumped is how far the store's clock is from where it could be.
func (c *clock) set(theirs, asked, answered time.Time) (jumped time.Duration) {
	half := answered.Sub(asked) / 2
	is := &reading{local: answered, theirs: theirs.Add(half).Round(0), within: half}
	was := c.read.Load()
	if was == nil {
		c.read.Store(is)
		return 0
	}
	within := was.within + answered.Sub(was.local).Abs()/drift
	off := is.theirs.Sub(was.at(answered)).Abs()
	if off <= within+half && half > within {
		return 0
	}
	c.read.Store(is)
	return max(off-within-half, 0)
}
