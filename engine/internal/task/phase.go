package task

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/engine/internal/place"
)

// phase says what an owner is doing for its task. phasesBehind has the allowed steps, as does
// docs/state-machine.md.
type phase uint8

const (
	phaseLoading  phase = iota // the log is being read, or the first message checked
	phaseIdle                  // no run of the agent is under way or due
	phaseStarting              // the agent runs once its message is accepted
	phaseResting               // the agent runs when its rest is over and there is capacity
	phaseRunning               // the agent's Run is under way
	phaseEnding                // the task is finished, and Run has not returned yet
	phaseYielding              // the next append leaves the task to any process that has capacity
	phaseNoAgent               // the task waits for its agent, which this process does not have
	phaseClosed                // the ownership is over: nothing is accepted any more
	phases
)

var phaseNames = [phases]string{"loading", "idle", "starting", "resting", "running", "ending", "yielding", "no agent", "closed"}

func (p phase) String() string { return phaseNames[p] }

// phasesBehind lists the phases that may follow each phase.
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

// enterLocked is the only place that sets an owner's phase. A step that is not in the table is
// a bug of this package. It is logged and taken nevertheless, because the task matters more
// than the table.
func (o *Owner) enterLocked(to phase) {
	if o.phase != to && !mayBecome(o.phase, to) {
		UnexpectedPhase(o.log(), o.phase.String(), to.String())
	}
	o.phase = to
}

// UnexpectedPhase is a variable so that tests can fail at such a step.
var UnexpectedPhase = func(log *slog.Logger, from, to string) {
	log.Error("the owner of a task took a step that its table does not have", "from", from, "to", to)
}

// ownerMutex protects an owner's state. Before Unlock lets others see a change, it tells the
// Admission and the clock of the task's work: see countLocked.
type ownerMutex struct {
	o  *Owner // set at start, then constant
	mu sync.Mutex
}

func (m *ownerMutex) Lock() { m.mu.Lock() }

func (m *ownerMutex) Unlock() {
	m.o.countLocked()
	m.mu.Unlock()
}

// admission is the task's share of the limits on tasks at work.
type admission struct {
	ticket   place.Ticket
	need     place.Need    // as last told to the Admission
	asked    bool          // since then the Admission was asked for a place that the task may not need
	since    time.Time     // when the task began or ceased to be at work
	worked   time.Duration // at work before since
	timedOut bool          // the task exceeded Limits.Wall
	rest     time.Duration // before the run that follows phaseResting
	slot     bool          // the task holds a slot of Admission.Reserve
}

// works reports whether the task is at work.
func (a *admission) works() bool { return a.need == place.ToRun || a.need == place.Running }

// spent returns how long the task was at work, given that it is.
func (a *admission) spent() time.Duration { return a.worked + time.Since(a.since) }

// needLocked returns what the task needs of the Admission now.
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

// countLocked tells the Admission what the task needs, and measures how long the task is at
// work. Only Unlock calls it, so no phase or state can change without it.
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
			o.adm.worked = o.adm.spent()
		}
	}
	o.all.Admission.Follow(&o.adm.ticket, ScopeOf(o.key), need)
}

// overLocked notes that the task is finished. Events of an agent that still runs are refused
// from now on.
func (o *Owner) overLocked() {
	if o.phase == phaseRunning {
		o.enterLocked(phaseEnding)
	}
}

// closeLocked ends the ownership. If the task waits for its agent, it is noted for when the
// agent arrives. The caller holds the lock of the topics and has taken the owner out of
// Owners.m, or is about to.
func (o *Owner) closeLocked() {
	if o.phase == phaseNoAgent && !o.draft.state.Terminal() {
		o.all.awaiting(o.key)
	}
	o.enterLocked(phaseClosed)
}
