package task

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
)

// loop is what an owner waits for. One goroutine at a time is in it: the owner's
// own, or the one of a sender, see attend.
type loop struct {
	create time.Time // when the task comes into being at the latest; zero: it is there

	createDue, limitDue, restDue <-chan time.Time
	stopDue                      <-chan time.Time // set when the agent is told to stop
	limitTimer                   *time.Timer      // its channel is limitDue, at times
	drained                      <-chan struct{}
	rests                        bool // or did when it was loaded
}

// inbox is what others tell the owner's goroutine.
type inbox struct {
	hint chan struct{} // capacity one: there is something to do, or in here

	mu sync.Mutex // protects the field below
	news
}

// news is what came since somebody looked.
type news struct {
	finished, committed bool
	ran                 error // with finished: what the agent's Run returned
	outcome             error // with committed: of the append under way
}

func (i *inbox) finish(err error) {
	i.mu.Lock()
	i.finished, i.ran = true, err
	i.mu.Unlock()
	wake.Nudge(i.hint)
}

func (i *inbox) commit(err error) {
	i.mu.Lock()
	i.committed, i.outcome = true, err
	i.mu.Unlock()
	wake.Nudge(i.hint)
}

func (i *inbox) take() news {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.news
	i.news = news{}
	return n
}

// run is the owner's goroutine, unless it is a sender's: see attend.
func (o *Owner) run() {
	o.mu.Lock()
	if l := &o.loop; o.phase == phaseResting {
		l.rests, l.restDue, l.drained = true, time.After(o.adm.rest), o.ctx.Done()
	}
	o.mu.Unlock()
	o.stay(nil, nil)
	o.over()
}

func (o *Owner) over() {
	o.leave()
	o.all.work.Done()
}

// stay goes on until the owner has nothing left to do, and must go. It returns
// false if somebody has to go on with it: p, if not nil, is settled, or left is
// closed.
func (o *Owner) stay(p *Post, left <-chan struct{}) bool {
	l := &o.loop
	for !o.quiet() {
		if p != nil && p.Settled.Was() {
			return false
		}
		o.arm()
		select {
		case <-o.inbox.hint:
			n := o.inbox.take()
			if p != nil && n.outcome != nil {
				// To try again may take long, and a sender may leave.
				o.inbox.again(n)
				return false
			}
			if !o.hear(n) {
				return true
			}
		case <-left:
			return false
		case <-l.createDue:
			o.mu.Lock()
			if o.phase == phaseRunning { // otherwise it has answered already
				o.createLocked()
			}
			o.mu.Unlock()
		case <-l.limitDue:
			if l.limitDue = nil; o.timeout() {
				l.stopDue = time.After(o.all.CancelWait)
			}
		case <-l.stopDue:
			o.desert()
		case <-l.restDue:
			l.restDue = nil
		case <-l.drained:
			l.drained = nil
		}
		if l.rests {
			o.endRest(l.restDue == nil)
		}
		o.flush()
	}
	return true
}

// hear acts on what came. It returns false if the owner has to give up.
func (o *Owner) hear(n news) bool {
	switch {
	case n.finished:
		o.conclude(n.ran)
	case !n.committed && o.inflight == nil:
		o.gather()
	}
	if !n.committed {
		return true
	}
	if !o.settle(n.outcome) {
		return false
	}
	if o.loop.stopDue == nil && o.saved.canceled {
		// Committed first, then the agent hears of it.
		o.ctx.end(agent.ErrCanceled)
		o.loop.stopDue = time.After(o.all.CancelWait)
	}
	return true
}

// arm sets the timers that may be needed from now on: none for a task that is
// about to be over.
func (o *Owner) arm() {
	switch l := &o.loop; {
	case l.create.IsZero():
	case o.inflight != nil:
		l.create = time.Time{}
	case l.createDue == nil:
		l.createDue = time.After(time.Until(l.create))
	}
	o.limit()
}
