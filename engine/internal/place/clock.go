package place

import (
	"sync/atomic"
	"time"
)

// clock is the time on which processes that share a store agree: the store's. Stored times are
// of this clock, and it decides when a process counts as dead. The clocks of the machines may
// differ by hours.
type clock struct {
	read atomic.Pointer[reading]
}

// reading is an answer of the store.
type reading struct {
	local  time.Time
	theirs time.Time     // the store's time at that moment
	within time.Duration // theirs may be off by this much
}

// drift says how far two clocks may drift apart: by 1/drift of the time that passes.
const drift = 1000

// now returns the store's time at a moment of this machine's clock, with the finer digits of
// the latter.
func (c *clock) now(local time.Time) time.Time {
	if r := c.read.Load(); r != nil {
		return r.at(local)
	}
	return local
}

func (r *reading) at(local time.Time) time.Time { return r.theirs.Add(local.Sub(r.local)) }

// set notes the time that the store answered, and when it was asked and answered by this
// machine's clock. If two readings agree, the more certain one stays. jumped is how far the
// store's clock is from where it could be.
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
