package task

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Most tasks are over at once: the agent answers in microseconds and its sender waits
// for the end. Two things make them cheap, and only this file has them: the sender
// is in the owner's loop until its message is settled, so that no goroutine has to
// be started and woken, and the loop lets the agent speak before the first append,
// so that there is one. An engine whose send called "go o.run()" in place of attend
// would do the same, at a tenth more processor time for each of these tasks
// (docs/design/0010-speed.md).

// Attend is run in the goroutine of p's sender, until p is settled or ctx ends.
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

// crash is deferred: a panic ends the process, as it does in a goroutine of our
// own. Whoever called us may recover from it, and then nobody would be in the loop
// any more and the task would be stuck.
func crash() {
	if v := recover(); v != nil {
		stack := debug.Stack()
		go func() { panic(fmt.Sprintf("engine: %v\n%s", v, stack)) }()
		select {}
	}
}

// again puts back what nobody acted on.
func (i *inbox) again(n news) {
	if n.finished {
		i.finish(n.ran)
	}
	if n.committed {
		i.commit(n.outcome)
	}
}

// takeRun takes only what the agent's Run returned.
func (i *inbox) takeRun() (err error, finished bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	err, finished = i.ran, i.finished
	i.ran, i.finished = nil, false
	return err, finished
}

// gather lets an agent that is about to finish do so, before its first words
// go to the disk: then the whole of a quick task is one commit. It yields a
// few times, and never waits. Where others have something to do meanwhile, so has
// the agent had its turn then, if it had any use for it; where a processor is idle,
// the agent runs on another one, and needs some microseconds.
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
		if err, finished := o.inbox.takeRun(); finished {
			o.conclude(err)
			return true
		}
		if spent = time.Since(begun); spent > crowded {
			o.all.crowd.met(begun, spent)
			return false
		}
	}
	return false
}

// crowded is more than yielding takes where a processor is free soon, and more
// than the commit is worth that it may save.
const crowded = time.Millisecond

// crowd keeps owners from yielding where processors are scarce. Who yields goes
// behind everybody, those included who come later: a twentieth of a second was
// seen. And there is nothing to win then: an owner that is not run at once finds
// what its agent did meanwhile. It is safe for concurrent use.
type crowd struct {
	until atomic.Int64 // Unix time in nanoseconds
}

// here reports whether it is not worth a yield now.
func (c *crowd) here(now time.Time) bool {
	left := time.Duration(c.until.Load() - now.UnixNano())
	return 0 < left && left <= maxCrowd // more is a clock that was set back
}

// maxCrowd bounds for how long one yield is remembered: it may have been the
// machine that stood still.
const maxCrowd = time.Second

// met tells of a yield that took too long: it costs all owners together a part of
// their time that nobody notices.
func (c *crowd) met(begun time.Time, spent time.Duration) {
	const rest = 50 // times what was spent
	c.until.Store(begun.Add(spent + min(rest*spent, maxCrowd)).UnixNano())
}
