package engine

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// What comes when this process has no room for it is taken nevertheless: it goes
// into the store as a task that is nobody's, and a process that has room draws it,
// this one or another. Nothing of it stays here but those who wait for its end.
//
// A task that waits has no owner in between. Who has something for it (a message,
// a cancellation) writes that with the epoch as it stands: so either that append
// or a Draw comes first, and the other one is refused.

// room is how many tasks are at work here, and how many may be.
type room struct {
	capacity int // constant; 0: there is always room
	log      *slog.Logger
	freed    chan struct{} // capacity one: a place may be free

	mu     sync.Mutex // protects the fields below, and seat of all owners
	used   int
	queue  []*owner // tasks of this process that wait for a place, the first one first
	behind bool     // others wait in the store: what is new goes behind them
	waited int      // tasks and turns since said that had to wait
	said   time.Time
}

// seat is what an owner has of the room.
type seat uint8

const (
	noSeat seat = iota
	queued
	seated
)

func newRoom(o *Options) *room {
	return &room{capacity: o.capacity(), log: o.logger(), freed: make(chan struct{}, 1)}
}

// take gives o a place, or reports that its turn has to wait in the store.
func (r *room) take(o *owner) bool {
	if r.capacity <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case o.adm.seat == seated:
	case o.adm.seat == queued, r.behind, len(r.queue) > 0, r.used >= r.capacity:
		r.behind = true
		r.sayLocked()
		return false
	default:
		o.adm.seat = seated
		r.used++
	}
	return true
}

// force gives o a place, even if there is none.
func (r *room) force(o *owner) {
	if r.capacity > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forceLocked(o)
	}
}

func (r *room) forceLocked(o *owner) {
	if o.adm.seat == queued {
		r.unqueueLocked(o)
	}
	if o.adm.seat != seated {
		o.adm.seat = seated
		r.used++
	}
}

// has reports whether o's agent may begin.
func (r *room) has(o *owner) bool {
	if r.capacity <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return o.adm.seat == seated
}

// follow gives o what it needs as it is now: one that is about to run gets a place
// or is the next to get one, one that runs has a place, whoever let it, and any
// other has none.
func (r *room) follow(o *owner, running, resting bool) {
	if r.capacity <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case running:
		r.forceLocked(o)
	case !resting:
		r.leaveLocked(o)
	case o.adm.seat == noSeat && r.used < r.capacity && len(r.queue) == 0:
		o.adm.seat = seated
		r.used++
	case o.adm.seat == noSeat:
		o.adm.seat = queued
		r.queue = append(r.queue, o)
	}
}

func (r *room) leaveLocked(o *owner) {
	switch o.adm.seat {
	case seated:
		o.adm.seat = noSeat
		r.used--
	case queued:
		r.unqueueLocked(o)
	}
	for len(r.queue) > 0 && r.used < r.capacity {
		next := r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
		next.adm.seat = seated
		r.used++
		next.nudge()
	}
	if r.used < r.capacity {
		nudge(r.freed)
	}
}

func (r *room) unqueueLocked(o *owner) {
	o.adm.seat = noSeat
	if i := slices.Index(r.queue, o); i >= 0 {
		r.queue = slices.Delete(r.queue, i, i+1)
	}
}

// left is how many tasks more may be at work here.
func (r *room) left() int {
	if r.capacity <= 0 {
		return math.MaxInt
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.capacity-r.used-len(r.queue), 0)
}

// wait waits for room for what is to be taken from the store. What is new goes
// behind it from then on, so it returns false if ctx ends.
func (r *room) wait(ctx context.Context) bool {
	for r.left() == 0 {
		r.full()
		select {
		case <-r.freed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// full says that others wait, and ahead that none do any more, as far as is known.
func (r *room) full()  { r.setBehind(true) }
func (r *room) ahead() { r.setBehind(false) }

func (r *room) setBehind(is bool) {
	if r.capacity > 0 {
		r.mu.Lock()
		r.behind = is
		r.mu.Unlock()
	}
}

// sayEvery is how often it is logged that tasks wait.
const sayEvery = time.Minute

func (r *room) sayLocked() {
	r.waited++
	if at := time.Now(); r.said.IsZero() || at.Sub(r.said) >= sayEvery {
		r.log.Info("more work than this process has room for; it waits in the store until some process has", "waits", r.waited, "capacity", r.capacity)
		r.waited, r.said = 0, at
	}
}

// roomLocked reports whether o's agent may have a message here and now. If not,
// the task waits in the store from its next append on. must is for what only this
// process can go on with.
func (o *owner) roomLocked(must bool) bool {
	if o.phase == phaseYielding {
		return false
	}
	if must {
		o.e.room.force(o)
	}
	if o.e.room.take(o) {
		return true
	}
	o.yieldLocked()
	return false
}

// yieldLocked leaves the task to whoever draws it. An agent of it that waits for
// its client is told to stop: it runs again there.
func (o *owner) yieldLocked() {
	ran := o.phase == phaseRunning
	o.enterLocked(phaseYielding)
	if ran { // nobody waits for it to return
		o.ctx.end(agent.ErrEnded)
		o.wake.ring()
	}
}

// beginLocked begins the first turn of a task that was born here.
func (o *owner) beginLocked() {
	if o.e.room.take(o) {
		o.startLocked()
		return
	}
	o.lease.next, o.saved.row.Epoch = 0, 0 // whoever draws it is its first owner
	o.yieldLocked()
	o.createLocked()
}

// waits says that a task may have been left in the store to be drawn.
func (e *Engine) waits() {
	e.room.full()
	e.taker.mu.Lock()
	e.taker.draws = true
	e.taker.mu.Unlock()
	e.taker.look()
}

// draw takes up to n tasks that wait, those of each tenant in turn, and returns
// how many slots they have use for.
func (e *Engine) draw(ctx context.Context, n int) (slots int, _ error) {
	t := e.taker
	t.mu.Lock()
	draws := t.draws
	t.draws = false
	t.mu.Unlock()
	if !draws {
		return 0, nil
	}
	rows, err := e.store.Draw(ctx, e.node, t.tenant, n)
	if ctx.Err() == nil {
		e.wrote(err)
	}
	t.mu.Lock()
	if err != nil {
		t.search = true // as with a claim
	}
	if err != nil || len(rows) == n {
		t.draws = true
	}
	t.mu.Unlock()
	for i := range rows {
		if e.revive(ctx, &rows[i], true) {
			slots++
		}
		t.tenant = rows[i].Tenant
	}
	return slots, err
}

// unbegun notes a task that was drawn and not begun when the process drains.
func (t *taker) unbegun(k store.Key) {
	t.mu.Lock()
	t.back = append(t.back, k)
	t.mu.Unlock()
}

// giveBack lets tasks that this process did not begin wait again. It has left
// already, so another may be quicker and go on with them.
func (e *Engine) giveBack(ctx context.Context) error {
	e.taker.mu.Lock()
	back := e.taker.back
	e.taker.mu.Unlock()
	for _, k := range back {
		rec, err := e.store.Get(ctx, k, store.RowOnly)
		if err == nil && rec.Active && rec.Node == e.node {
			_, err = e.store.Take(ctx, "", e.nodes.DeadBefore(), k)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

var errDrawn = errors.New("engine: a process has drawn the task meanwhile")

// errPassed is what those get who had something for a task that waited, when it
// waits no more. They look again who has it.
func errPassed() error {
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "the task has just begun at another process of this server; try again shortly",
		Cause:   errDrawn,
	}
}
