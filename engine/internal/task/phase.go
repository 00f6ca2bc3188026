package task

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/engine/internal/place"
)

// phase is what an owner does for its task. mayBecome says which phase may come
// behind which; docs/state-machine.md has the table.
type phase uint8

const (
	phaseLoading  phase = iota // the log is being read, or the first message judged
	phaseIdle                  // no run of the agent is under way or to come
	phaseStarting              // the agent runs once the message that it is for is taken
	phaseResting               // the agent runs when its rest is over and there is capacity
	phaseRunning               // the agent's Run is under way
	phaseEnding                // the task is finished, and Run has not returned yet
	phaseYielding              // with its next append the task is left to any process that has capacity
	phaseNoAgent               // the task waits for its agent, which is not there
	phaseClosed                // the ownership is over: nothing is taken any more
	phases
)

var phaseNames = [phases]string{"loading", "idle", "starting", "resting", "running", "ending", "yielding", "no agent", "closed"}

func (p phase) String() string { return phaseNames[p] }

// phasesBehind has the phases that may come behind each.
var phasesBehind = [phases][]phase{
	phaseLoading:  {phaseIdle, phaseStarting, phaseYielding, phaseClosed},
	phaseIdle:     {phaseStarting, phaseResting, phaseRunning, phaseYielding, phaseNoAgent, phaseClosed},
	phaseStarting: {phaseIdle, phaseRunning, phaseYielding, phaseNoAgent, phaseClosed},
	phaseResting:  {phaseIdle, phaseRunning, phaseYielding, phaseNoAgent, phaseClosed},
	phaseRunning:  {phaseIdle, phaseEnding, phaseYielding, phaseClosed},
	phaseEnding:   {phaseIdle, phaseClosed},
	phaseYielding: {phaseClosed},
	phaseNoAgent:  {phaseStarting, phaseRunning, phaseYielding, phaseClosed},
	phaseClosed:   {},
}

// mayBecome reports whether an owner may go from one phase to another.
func mayBecome(from, to phase) bool { return slices.Contains(phasesBehind[from], to) }

// enterLocked is the only place that sets an owner's phase. A step that is not in
// the table is a mistake of this package. It is taken nevertheless, since a task
// that goes on is worth more than the table.
func (o *Owner) enterLocked(to phase) {
	if o.phase != to && !mayBecome(o.phase, to) {
		UnexpectedPhase(o.log(), o.phase.String(), to.String())
	}
	o.phase = to
}

// UnexpectedPhase is a variable for tests, which do not go on.
var UnexpectedPhase = func(log *slog.Logger, from, to string) {
	log.Error("the owner of a task took a step that its table does not have", "from", from, "to", to)
}

// ownerMutex protects an owner's state. Before others see what was done under it,
// the Admission and the clock of the task's work are told: see countLocked.
type ownerMutex struct {
	o  *Owner // set at start, then constant
	mu sync.Mutex
}

func (m *ownerMutex) Lock() { m.mu.Lock() }

func (m *ownerMutex) Unlock() {
	m.o.countLocked()
	m.mu.Unlock()
}

// admission is what the task takes of what bounds the tasks at work.
type admission struct {
	ticket   place.Ticket
	need     place.Need    // as the Admission was told last
	asked    bool          // since then the task was given what it may not need
	since    time.Time     // when the task began or ceased to be at work
	worked   time.Duration // before since
	timedOut bool          // it was at work for too long
	rest     time.Duration // before the run that comes behind phaseResting
	slot     bool          // it has one of those that Admission.Reserve gave out
}

// works reports whether the task is at work.
func (a *admission) works() bool { return a.need == place.ToRun || a.need == place.Running }

// needLocked is what the task needs as it is now.
func (o *Owner) needLocked() place.Need {
	works := active(o.draft.state)
	switch o.phase {
	case phaseResting, phaseStarting:
		if works {
			return place.ToRun
		}
	case phaseRunning, phaseEnding:
		if works && o.phase == phaseRunning {
			return place.Running
		}
		if !o.draft.state.Interrupted() {
			return place.Leaving
		}
	}
	return place.Nothing
}

// countLocked tells the Admission what the task needs, and takes the time for which
// it is at work. Only Unlock calls it, so that neither a phase nor a state can change
// without it.
func (o *Owner) countLocked() {
	need := o.needLocked()
	if need == o.adm.need && !o.adm.asked {
		return
	}
	did := o.adm.works()
	o.adm.need, o.adm.asked = need, false
	if o.adm.works() != did {
		if !did {
			o.adm.since = time.Now()
		} else {
			o.adm.worked += time.Since(o.adm.since)
		}
	}
	o.all.Admission.Follow(&o.adm.ticket, ScopeOf(o.key), need)
}

// overLocked notes that the task is finished. An agent that still runs is not heard
// any more.
func (o *Owner) overLocked() {
	if o.phase == phaseRunning {
		o.enterLocked(phaseEnding)
	}
}

// closeLocked ends the ownership, under the lock of the topics and with the owner out of
// Owners.m, or about to be: a task that waits for its agent is noted, for when
// that comes.
func (o *Owner) closeLocked() {
	if o.phase == phaseNoAgent && !o.draft.state.Terminal() {
		o.all.awaiting(o.key)
	}
	o.enterLocked(phaseClosed)
}
