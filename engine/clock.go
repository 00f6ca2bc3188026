package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the time by which processes that share a store agree: the store's. What
// is stored has it, and who is taken for dead. The clocks of their machines may
// differ by hours. A store that is one process's alone is not asked.
type clock struct {
	local func() time.Time // for tests; nil: this machine's
	read  atomic.Pointer[reading]
}

// reading is what the store said.
type reading struct {
	local  time.Time
	theirs time.Time     // at the same moment, give or take
	within time.Duration // this
}

// drift is how much of the time that has passed two clocks may differ by.
const drift = 1000

func (c *clock) here() time.Time {
	if c.local != nil {
		return c.local()
	}
	return time.Now()
}

// now returns the time, with its finer digits.
func (c *clock) now() time.Time {
	r := c.read.Load()
	if r == nil {
		return c.here()
	}
	return r.at(c.here())
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

// ask reads the store's clock.
func (e *Engine) ask(ctx context.Context) (jumped time.Duration, _ error) {
	asked := e.clock.here()
	theirs, err := e.store.Now(ctx)
	if err != nil {
		return 0, err
	}
	return e.clock.set(theirs, asked, e.clock.here()), nil
}

// now is the time as entries carry it.
func (e *Engine) now() time.Time { return e.clock.now().UTC().Truncate(time.Millisecond) }
