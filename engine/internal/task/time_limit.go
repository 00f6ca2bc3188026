package task

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// limit sets the timer for when the task exceeds Limits.Wall, or clears it if the task is not
// at work.
func (o *Owner) limit() {
	l, most := &o.loop, o.all.limits.Load().Wall
	if most <= 0 || l.stopDue != nil {
		l.limitDue = nil
		return
	}
	o.mu.Lock()
	works, left := o.adm.works(), most-o.adm.spent()
	o.mu.Unlock()
	switch {
	case !works:
		l.limitDue = nil
		return
	case l.limitTimer == nil:
		l.limitTimer = time.NewTimer(left)
	default:
		l.limitTimer.Reset(left)
	}
	l.limitDue = l.limitTimer.C
}

// timeout ends a task that was at work for too long. If its agent runs, it is only told to
// stop, and timeout returns true.
func (o *Owner) timeout() bool {
	limit := o.all.limits.Load().Wall
	o.mu.Lock()
	defer o.mu.Unlock()
	if limit <= 0 || !o.adm.works() || o.adm.spent() < limit {
		return false // the limit was lifted or raised meanwhile, or the task waits for its client by now
	}
	o.adm.timedOut = true
	if o.phase == phaseRunning {
		o.ctx.end(agent.ErrTimeout)
		return true
	}
	o.enterLocked(phaseIdle)
	o.concludeLocked(o.tooLong())
	return false
}

func (o *Owner) tooLong() *a2a.Entry {
	return o.failure("the task was at work for " + o.all.limits.Load().Wall.String() + ", the longest that it may be")
}

// workClock adds up how long a task was at work from the entries of its log.
type workClock struct {
	waits bool      // between a message and the agent's next entry the task may have waited for a process
	said  bool      // the newest entry is the client's, or came with the client's
	last  time.Time // of the newest entry
	works bool      // the task is at work after it
	total time.Duration
}

func (c *workClock) add(en *a2a.Entry) {
	byClient := en.Kind == a2a.EntryCreated || en.Kind == a2a.EntryMessage ||
		c.said && en.Kind == a2a.EntryStatus && en.Time.Equal(c.last) && active(en.Status.Status.State)
	if c.works && !(c.waits && c.said) {
		c.total += en.Time.Sub(c.last)
	}
	c.last, c.said = en.Time, byClient
	switch en.Kind {
	case a2a.EntryCreated:
		c.works = true
	case a2a.EntryStatus:
		c.works = active(en.Status.Status.State)
	}
}
