package task

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/store"
)

// Standing is the state of a task of this process at one moment.
type Standing struct {
	store.Key               // its tenant is the caller's
	Agent     string        // "" for the default one
	Context   string        // contextId
	State     a2a.TaskState // TaskStateUnspecified: it does not exist yet, and may never
	Phase     string        // what this process does for the task, see docs/state-machine.md
	Waits     Waits         // what it waits for
	Since     time.Time     // of the newest entry of its log, or of its first message
	Attempt   int           // runs of the agent in the current turn
	Lost      int           // processes lost in the current turn
	Unsaved   int           // entries that are not on disk yet
}

// Standings returns the standing of each task that this process has in memory, in no order.
func (os *Owners) Standings() []Standing {
	owners := os.AtWork()
	all := make([]Standing, 0, len(owners))
	for _, o := range owners {
		all = append(all, o.stands())
	}
	return all
}

func (o *Owner) stands() Standing {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := Standing{
		Key: o.key, Context: o.contextID, Phase: o.phase.String(), Since: o.out.last,
		Attempt: int(o.turn.attempt), Lost: int(o.turn.lost), Unsaved: len(o.out.pending) + len(o.out.ahead),
	}
	s.Agent, s.Tenant = AgentOf(o.key.Tenant)
	if o.out.exists {
		s.State = o.draft.state
	}
	switch {
	case o.phase == phaseNoAgent:
		s.Waits = WaitsForNoAgent
	case o.phase == phaseLoading, o.draft.state.Terminal() && s.Unsaved > 0:
		s.Waits = WaitsForStore
	case s.State.Interrupted():
		s.Waits = WaitsForClient
	case o.phase == phaseResting && !o.all.Admission.MayRun(&o.adm.ticket), o.phase == phaseYielding:
		s.Waits = WaitsForCapacity
	case o.phase == phaseResting:
		s.Waits = WaitsForRest
	case o.phase == phaseRunning, o.phase == phaseEnding:
		s.Waits = WaitsForAgent
	case s.Unsaved > 0:
		s.Waits = WaitsForStore
	default:
		s.Waits = WaitsForNothing
	}
	return s
}

// Waits says what a task that is not finished waits for.
type Waits uint8

const (
	WaitsForNothing  Waits = iota // the task is finished
	WaitsForAgent                 // the agent runs
	WaitsForCapacity              // of this process, or of any
	WaitsForRest                  // the pause before the next run
	WaitsForClient
	WaitsForNoAgent // this process has no agent of that name
	WaitsForProcess // a process has to take the task over
	WaitsForOther   // another process has the task, and knows what it waits for
	WaitsForStore   // to read the task or to commit its entries
)

var waitNames = [...]string{"nothing", "agent", "capacity", "rest", "client", "agent missing", "process", "other", "store"}

func (w Waits) String() string { return waitNames[w] }

// WaitOf returns what the task of r waits for and, if known, since when.
func (os *Owners) WaitOf(r *store.Row) (Waits, time.Time) {
	state := a2a.TaskState(r.State)
	if state.Terminal() {
		return WaitsForNothing, time.Time{}
	}
	os.Topics.Lock()
	o := os.m[r.Key]
	os.Topics.Unlock()
	if o == nil || !o.ready.Was() {
		switch {
		case !r.Active:
			return WaitsForClient, r.Updated
		case r.Node == "":
			return WaitsForCapacity, r.Updated
		case r.Node != os.Node && os.Nodes.DeadBefore() != place.Everyone: // Everyone: no other process is alive
			return WaitsForOther, time.Time{}
		}
		return WaitsForProcess, time.Time{}
	}
	s := o.stands()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case s.Waits == WaitsForNoAgent || s.Waits == WaitsForClient:
		return s.Waits, r.Updated
	case s.Waits == WaitsForCapacity || s.Waits == WaitsForRest:
		return s.Waits, o.adm.since
	case state.Interrupted():
		return WaitsForClient, r.Updated
	}
	return WaitsForAgent, o.adm.since
}
