package task

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Most tasks are over at once: the agent answers in microseconds while its sender waits. Two
// shortcuts, which only this file has, make such tasks cheap. The sender's goroutine runs the
// owner's loop until its message is settled, so no goroutine has to be started and woken. And
// the loop lets the agent finish before the first append, so there is only one. An engine whose
// send called "go o.run()" instead of Attend would behave the same, but each of these tasks
// would take a tenth more processor time (docs/design/0010-speed.md).

// Attend runs the owner's loop in the goroutine of p's sender, until p is settled or ctx ends.
func (o *Owner) Attend(ctx context.Context, p *Post) {
	defer crash()
	if o.gather() {
		o.flush()
	}
	if !o.stay(p, ctx.Done()) {
		go o.run()
		return
	}
	o.over()
}

// crash, when deferred, makes a panic end the process, as it does in a goroutine of our own. If
// a caller of ours recovered it instead, nothing would run the loop any more and the task would
// be stuck.
func crash() {
	if v := recover(); v != nil {
		stack := debug.Stack()
		go func() { panic(fmt.Sprintf("engine: %v\n%s", v, stack)) }()
		select {}
	}
}

// gather lets an agent that is about to finish do so before its first events go to the disk:
// then a quick task is one commit. It yields a few times and never waits. If other goroutines
// were runnable, the agent has been scheduled by then, too. If a processor is idle, the agent
// runs there and needs some microseconds. No append is under way.
func (o *Owner) gather() (finished bool) {
	const few, many, most = 8, 48, 5 * time.Microsecond
	begun := time.Now()
	if o.all.crowd.here(begun) {
		return false
	}
	var spent time.Duration
	for i := range many {
		if i >= few && spent > most {
			return false
		}
		runtime.Gosched()
		if n := o.inbox.take(); n.finished {
			o.conclude(n.ran)
			return true
		}
		if spent = time.Since(begun); spent > crowded {
			o.all.crowd.met(begun, spent)
			return false
		}
	}
	return false
}

// crowded is longer than a yield takes if a processor is free soon, and costs more than the
// commit that the yield may save.
const crowded = time.Millisecond

// crowd keeps owners from yielding while processors are scarce. A goroutine that yields goes
// behind all others, even those that come later: 50 ms were seen. Nor is there anything to gain
// then: an owner that is not scheduled at once finds its agent's work done. It is safe for
// concurrent use.
type crowd struct {
	until atomic.Int64 // Unix time in nanoseconds
}

// here reports whether a yield is not worthwhile now.
func (c *crowd) here(now time.Time) bool {
	left := time.Duration(c.until.Load() - now.UnixNano())
	return 0 < left && left <= maxCrowd // more means that the clock was set back
}

// maxCrowd bounds how long one yield is remembered: perhaps the whole machine stood still.
const maxCrowd = time.Second

// met records a yield that took too long. No owner yields for a multiple of that time, so that
// yields cost all of them together little.
func (c *crowd) met(begun time.Time, spent time.Duration) {
	const rest = 50 // times what was spent
	c.until.Store(begun.Add(spent + min(rest*spent, maxCrowd)).UnixNano())
}
