package task

import (
	"cmp"
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// A task that waits for its client needs no process: its log has all there is. Its agent still
// waits in memory, with the whole task, because the answer may come at once. If too many agents
// wait, or others need the memory, some give way: the owner leaves and the agent's function
// ends. The next message loads the task, and the agent runs again from the top, as after an
// orderly restart: recorded questions and steps return at once.

// maxParked is how many agents may wait for their clients here, and maxParkedOf how many for
// those of one caller. Each takes some 20 KiB, even if its task is small, and two goroutines,
// whose stacks every garbage collection reads.
const (
	maxParked   = 2000
	maxParkedOf = 500
)

// pressedEvery is how often MakeWay tries again to free memory while callers wait for it.
const pressedEvery = time.Second

// parked holds the owners whose agents wait for their clients. Some of them may no longer wait.
type parked struct {
	hint chan struct{} // capacity one: there is an owner that could give way

	mu    sync.Mutex        // protects the fields below, and Owner.parking.place of all owners
	queue list.List         // of *Owner, longest wait first
	of    map[store.Key]int // how many there are of a caller
}

// parking counts what keeps an owner's agent waiting or bound to this process.
type parking struct {
	asking int           // questions that wait for the client alone
	bound  int           // questions that also wait for something that needs this process
	steps  int           // steps under way: no other run may begin them meanwhile
	place  *list.Element // protected by Owners.parked
}

// parkLocked notes that o's agent waits for its client, if it does.
func (o *Owner) parkLocked() {
	if o.parking.asking == 0 || !o.waitsLocked() {
		return
	}
	p := &o.all.parked
	p.mu.Lock()
	p.removeLocked(o)
	o.parking.place = p.queue.PushBack(o)
	p.of[ScopeOf(o.key)]++
	many := p.queue.Len() > o.all.MaxParked || p.of[ScopeOf(o.key)] > o.all.MaxParkedOf
	p.mu.Unlock()
	if many || o.mem.hold.Held() > 0 {
		wake.Nudge(p.hint)
	}
}

// drop forgets o until it parks again.
func (p *parked) drop(o *Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(o)
}

func (p *parked) removeLocked(o *Owner) {
	if o.parking.place == nil {
		return
	}
	p.queue.Remove(o.parking.place)
	o.parking.place = nil
	caller := ScopeOf(o.key)
	if p.of[caller]--; p.of[caller] == 0 {
		delete(p.of, caller)
	}
}

// surplus forgets and returns the owners in excess of most, and those in excess of mostOf
// among those of their caller, longest wait first.
func (p *parked) surplus(most, mostOf int) (some []*Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := p.queue.Front(); at != nil; {
		o := at.Value.(*Owner)
		at = at.Next()
		if p.queue.Len() > most || p.of[ScopeOf(o.key)] > mostOf {
			p.removeLocked(o)
			some = append(some, o)
		}
	}
	return some
}

// ownersOf returns the owners of a caller's tasks, longest wait first.
func (p *parked) ownersOf(caller store.Key) (some []*Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := p.queue.Front(); at != nil; at = at.Next() {
		if o := at.Value.(*Owner); ScopeOf(o.key) == caller {
			some = append(some, o)
		}
	}
	return some
}

// MakeWay makes parked owners give way when there are too many of them or memory is short,
// until ctx ends.
func (os *Owners) MakeWay(ctx context.Context) {
	for again := time.After(pressedEvery); ; {
		select {
		case <-os.Weights.Short():
		case <-os.parked.hint:
		case <-again:
		case <-ctx.Done():
			return
		}
		for _, o := range os.parked.surplus(os.MaxParked, os.MaxParkedOf) {
			os.giveWayOf(o)
		}
		for os.relieve() {
		}
		again = nil
		if len(os.Weights.Pressed()) > 0 {
			again = time.After(pressedEvery)
		}
	}
}

// relieve makes the largest parked owner give way, of the caller that holds most among those
// that should give memory back. It returns false if there is none.
func (os *Owners) relieve() bool {
	for _, key := range os.Weights.Pressed() {
		size := map[*Owner]int64{}
		some := os.parked.ownersOf(key.(store.Key))
		for _, o := range some {
			size[o] = o.mem.hold.Held()
		}
		slices.SortStableFunc(some, func(a, b *Owner) int { return cmp.Compare(size[b], size[a]) })
		for _, o := range some {
			if size[o] > 0 && os.giveWayOf(o) {
				return true
			}
		}
	}
	return false
}

// giveWayOf ends an ownership whose agent waits for its client. It returns false if the agent
// does not, or must not be given up.
func (os *Owners) giveWayOf(o *Owner) bool {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	if os.m[o.key] != o || !o.ready.Was() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.parking.asking == 0 || !o.waitsLocked() || o.boundLocked() || o.turn.taken < len(o.turn.messages) {
		return false
	}
	o.log().Debug("task that waits for its client leaves memory")
	o.dismissLocked(agent.ErrDraining, nil) // which tells the agent that it will run again
	return true
}

// boundLocked reports whether the run of o's agent must not be given up for a later run here or
// elsewhere: the agent declared that it does nothing twice, this process no longer has it for
// another run, it was given an authorization, which is kept nowhere else, or a step is under
// way.
func (o *Owner) boundLocked() bool {
	a := o.all.Agent(o.key)
	return a == nil || a.declared.Fail != "" || o.auth.given || len(o.auth.came) > 0 || o.parking.steps > 0
}

// endedLocked returns the error for an agent's question that gets no answer any more; nil if it
// may get one.
func (o *Owner) endedLocked() error {
	left := o.phase == phaseClosed || o.phase == phaseYielding
	switch {
	case left && context.Cause(o.ctx.Context) == agent.ErrDraining:
		return agent.ErrDraining
	case left || o.draft.state.Terminal():
		return agent.ErrEnded
	}
	return nil
}

// waitsLocked reports whether o's task waits for its client alone: everything is stored, and no
// caller is about to act on it.
func (o *Owner) waitsLocked() bool {
	return o.phase != phaseClosed && o.out.exists && o.holds == 0 && o.parking.bound+o.parking.steps == 0 && o.mem.coming == 0 && o.turn.canceling == nil &&
		len(o.out.pending) == 0 && len(o.out.ahead) == 0 && o.draft.state.Interrupted()
}
