package task

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Waits says what a task that is not finished waits for.
type Waits uint8

const (
	WaitsForNothing  Waits = iota // it is finished
	WaitsForAgent                 // which runs
	WaitsForCapacity              // of this process, or of any
	WaitsForRest                  // to be over, behind a run that failed
	WaitsForClient
	WaitsForNoAgent // there is no agent of its name
	WaitsForProcess // to take it over
	WaitsForOther   // another process has it, and knows
)

// WaitOf returns what the task of a row waits for, and since when, if that is known.
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
		case r.Node != os.Node && r.Node != "":
			return WaitsForOther, time.Time{}
		}
		return WaitsForProcess, time.Time{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	since := o.adm.since
	switch {
	case o.phase == phaseNoAgent:
		return WaitsForNoAgent, r.Updated
	case o.draft.state.Interrupted():
		return WaitsForClient, r.Updated
	case o.phase == phaseResting && !os.Admission.MayRun(&o.adm.ticket), o.phase == phaseYielding:
		return WaitsForCapacity, since
	case o.phase == phaseResting:
		return WaitsForRest, since
	case state.Interrupted():
		return WaitsForClient, r.Updated
	}
	return WaitsForAgent, since
}
