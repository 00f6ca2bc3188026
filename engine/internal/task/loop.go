package task

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
)

// loop has the timers of an owner's loop. One goroutine at a time runs the loop: the owner's
// own or a sender's, see Attend.
type loop struct {
	create time.Time // when the task comes into being at the latest; zero: it exists, or is about to

	createDue, limitDue, restDue <-chan time.Time
	stopDue                      <-chan time.Time // set when the agent is told to stop
	limitTimer                   *time.Timer      // its channel is limitDue while that is set
	drained                      <-chan struct{}
	rests                        bool // the task was in phaseResting when it was loaded
}

// inbox holds the news for the owner's goroutine.
type inbox struct {
	hint chan struct{} // capacity one: there is news or something else to do

	mu sync.Mutex // protects the field below
	news
}

// news is what happened since the last take.
type news struct {
	finished, committed bool
	ran                 error // with finished: what the agent's Run returned
	outcome             error // with committed: the outcome of the append under way
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

// failed reports whether the append under way has failed.
func (i *inbox) failed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.outcome != nil
}

func (i *inbox) take() news {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.news
	i.news = news{}
	return n
}

// run runs the loop in a goroutine of the owner's own; Attend runs it in a sender's.
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

// stay runs the loop. It returns true if the owner has to leave: nothing is left to do, or it
// has to give up. It returns false if another goroutine has to go on with the loop: p, if not
// nil, is settled or its append failed, or left is closed.
func (o *Owner) stay(p *Post, left <-chan struct{}) bool {
	l := &o.loop
	for !o.quiet() {
		if p != nil && p.Settled.Was() {
			return false
		}
		o.arm()
		select {
		case <-o.inbox.hint:
			if p != nil && o.inbox.failed() {
				o.nudge()
				return false // retrying may take long, and the sender may leave
			}
			if !o.hear(o.inbox.take()) {
				return true
			}
		case <-left:
			return false
		case <-l.createDue:
			o.mu.Lock()
			if o.phase == phaseRunning { // otherwise the agent has answered already
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

// hear acts on n. It returns false if the owner has to give up.
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
		// The agent is told only after the request is committed.
		o.ctx.end(agent.ErrCanceled)
		o.loop.stopDue = time.After(o.all.CancelWait)
	}
	return true
}

// arm sets the timers that may be needed from now on. A task whose end is being committed needs
// none.
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
