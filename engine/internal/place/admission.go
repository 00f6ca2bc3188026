package place

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Admission says which tasks may run in this process. It has three limits, each with its own
// rule for one task more:
//
//	limits     tasks at work, in all and of one owner: one more is refused
//	Capacity   tasks that run here, each in a run slot (seat in the code): one more waits in
//	           the store, or here in a queue if the store gave it to this process
//	TakeUp     tasks that begin again after their process was lost, each in a take-up slot
//	           (slot in the code): one more stays with that dead process
//
// The exported fields are set before it is used, then constant.
type Admission struct {
	Capacity int  // zero: no bound
	TakeUp   int  // take-up slots, see Reserve
	Counts   bool // count tasks even without limits, which may be set later
	Waited   bool // tasks may have waited in the store, for this process or another one
	Log      *slog.Logger

	mu           sync.Mutex // protects the fields below, and all tickets
	most, mostOf int        // the limits; zero or less: none
	working      int
	of           map[store.Key]int // a Key without ID → how many of its tasks are at work
	by           map[string]int    // an owner → how many of its tasks in all tenants are at work
	runSlots     int               // in use
	queue        []*Ticket         // tasks of this process that wait for a run slot, first come first
	behind       bool              // tasks wait in the store: new ones wait behind them
	takeUpSlots  int               // in use
	freed        chan struct{}     // capacity one: a slot of either kind may be free; nil until Reserve waits
	waited       int               // tasks and turns that had to wait since said
	said         time.Time
}

// Ticket is what an Admission has given to a task. The zero Ticket has nothing.
type Ticket struct {
	Hint chan struct{} // capacity one, constant: the task has got its run slot

	counted, queued, seated bool
}

// Answer is the answer of Ask.
type Answer uint8

const (
	Yes       Answer = iota // the task may run here, now
	Wait                    // it has to wait in the store
	Full                    // it is refused: too many are at work
	OwnerFull               // it is refused: its owner has too many at work
)

// Need is what a task needs as it is now.
type Need uint8

const (
	Nothing Need = iota // it is finished, waits for its client, or is left to others
	ToRun               // it is at work, and its agent runs when it has a run slot
	Running             // it is at work, and its agent runs
	Leaving             // it is finished, and its agent has not returned yet
)

// SetLimits sets how many tasks may be at work, in all and of one owner. Zero or less
// means no limit. Tasks that are at work already are not refused.
func (a *Admission) SetLimits(all, ofOne int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most, a.mostOf = all, ofOne
}

// Ask asks for what a task needs to begin, or to go on with a message. scope, a Key without ID,
// is where the task is counted; with all, the owner's tasks of all tenants count. must means
// that only this process can go on with the task: it gets a run slot even if none is free. A
// task that has what it asks for keeps it.
func (a *Admission) Ask(t *Ticket, scope store.Key, all, must bool) Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.counted {
		has := a.of[scope]
		if all {
			has = a.by[scope.Owner]
		}
		switch {
		case a.mostOf > 0 && has >= a.mostOf:
			return OwnerFull
		case a.most > 0 && a.working >= a.most:
			return Full
		}
	}
	switch {
	case a.Capacity <= 0 || t.seated:
	case must:
		a.seatLocked(t)
	case t.queued, a.behind, len(a.queue) > 0, a.runSlots >= a.Capacity:
		a.behind = true
		a.sayLocked()
		return Wait
	default:
		a.seatLocked(t)
	}
	a.countLocked(t, scope, true)
	return Yes
}

// Follow gives a task what it needs, and takes the rest back. A task that runs has a run slot,
// even if Ask was not called for it. A task that is to run gets a run slot now or queues for
// one.
func (a *Admission) Follow(t *Ticket, scope store.Key, n Need) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.countLocked(t, scope, n == ToRun || n == Running)
	switch {
	case a.Capacity <= 0:
	case n == Running || n == Leaving:
		a.seatLocked(t)
	case n == Nothing:
		a.leaveLocked(t)
	case t.seated || t.queued:
	case a.runSlots < a.Capacity && len(a.queue) == 0:
		a.seatLocked(t)
	default:
		t.queued = true
		a.queue = append(a.queue, t)
	}
}

// MayRun reports whether a task has a run slot, or needs none.
func (a *Admission) MayRun(t *Ticket) bool {
	if a.Capacity <= 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return t.seated
}

// At returns how many tasks are at work, and how many owners they have.
func (a *Admission) At() (tasks, owners int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.working, len(a.of)
}

func (a *Admission) countLocked(t *Ticket, scope store.Key, is bool) {
	if is == t.counted || is && !a.Counts && a.most <= 0 && a.mostOf <= 0 {
		return
	}
	n := 1
	if !is {
		n = -1
	}
	t.counted = is
	a.working += n
	if a.of == nil {
		a.of, a.by = map[store.Key]int{}, map[string]int{}
	}
	if a.of[scope] += n; a.of[scope] == 0 {
		delete(a.of, scope)
	}
	if a.by[scope.Owner] += n; a.by[scope.Owner] == 0 {
		delete(a.by, scope.Owner)
	}
}

func (a *Admission) seatLocked(t *Ticket) {
	if t.seated {
		return
	}
	a.unqueueLocked(t)
	t.seated = true
	a.runSlots++
}

func (a *Admission) unqueueLocked(t *Ticket) {
	if t.queued {
		t.queued = false
		a.queue = slices.DeleteFunc(a.queue, func(other *Ticket) bool { return other == t })
	}
}

func (a *Admission) leaveLocked(t *Ticket) {
	a.unqueueLocked(t)
	if t.seated {
		t.seated = false
		a.runSlots--
	}
	for len(a.queue) > 0 && a.runSlots < a.Capacity {
		next := a.queue[0]
		a.seatLocked(next)
		wake.Nudge(next.Hint)
	}
	if a.runSlots < a.Capacity {
		wake.Nudge(a.freed)
	}
}

// Reserve waits until there are a take-up slot and a run slot for a task from the store, and
// takes up to n take-up slots. New tasks queue behind it meanwhile. It returns 0 if ctx ends.
// One goroutine at a time may wait.
func (a *Admission) Reserve(ctx context.Context, n int) int {
	for {
		a.mu.Lock()
		if a.leftLocked() == 0 {
			a.behind = true
		} else if got := min(n, a.TakeUp-a.takeUpSlots); got > 0 {
			a.takeUpSlots += got
			a.mu.Unlock()
			return got
		}
		if a.freed == nil {
			a.freed = make(chan struct{}, 1)
		}
		freed := a.freed
		a.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return 0
		}
	}
}

// Free gives take-up slots back: unused ones at once, and that of a task when its agent has
// emitted something.
func (a *Admission) Free(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.takeUpSlots -= n
	wake.Nudge(a.freed)
}

// Left returns how many more tasks may run here.
func (a *Admission) Left() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leftLocked()
}

func (a *Admission) leftLocked() int {
	if a.Capacity <= 0 {
		return math.MaxInt
	}
	return max(a.Capacity-a.runSlots-len(a.queue), 0)
}

// Load returns how many run slots are in use, and how many tasks of this process wait for one.
func (a *Admission) Load() (taken, queued int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runSlots, len(a.queue)
}

// Behind notes whether tasks wait in the store, as far as is known.
func (a *Admission) Behind(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.behind = is
}

// sayEvery is how often it is logged that tasks wait.
const sayEvery = time.Minute

func (a *Admission) sayLocked() {
	a.waited++
	if at := time.Now(); a.said.IsZero() || at.Sub(a.said) >= sayEvery {
		a.Log.Info("this process has no capacity for more work; it waits in the store until a process has", "waits", a.waited, "capacity", a.Capacity)
		a.waited, a.said = 0, at
	}
}
