package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Tasks at work outlive their process. The next process takes them up bit by bit: only a task
// that gets one of Options.TakeUp slots is claimed, and it holds the slot until it is at work
// again. The other tasks stay with the dead process, cost nothing here, and do not count as
// lost again if this process dies, too. A slot is not held as long as a task runs, because a
// few tasks that run for hours would keep all others waiting that ran beside them before.

// taker knows which tasks there are to take up.
type taker struct {
	hint chan struct{} // capacity one: look again

	mu      sync.Mutex // protects the fields below
	claims  bool       // dead processes may have left tasks
	draws   bool       // tasks may wait in the store
	search  bool       // a claim failed, but its tasks may be this process's now
	orphans map[store.Key]*orphan
	back    []store.Key // drawn, but not begun before the drain

	awaiting map[store.Key]struct{} // tasks of this process that wait for their agent, which it does not have

	tenant string // of the task drawn last; owned by TakeUp's goroutine
}

// orphan is a task of this process that has no owner, because it could not be loaded or
// written.
type orphan struct {
	lost  int32 // store.Row.Lost, plus losses that are not stored yet
	ran   bool  // its agent was interrupted
	tries int   // failed ones
	due   time.Time
}

// takeBatch is how many tasks are claimed at a time: few, because tasks that are claimed and
// not begun when the process dies count as lost.
const takeBatch = 64

func newTaker() *taker {
	return &taker{
		hint:    make(chan struct{}, 1),
		claims:  true,
		draws:   true,
		orphans: map[store.Key]*orphan{},

		awaiting: map[store.Key]struct{}{},
	}
}

func (t *taker) look() { wake.Nudge(t.hint) }

// Others tells the taker that processes may have died, or left tasks to be drawn.
func (os *Owners) Others() {
	t := os.taker
	t.mu.Lock()
	t.claims, t.draws = true, true
	t.mu.Unlock()
	t.look()
}

// orphaned notes a task of this process that has no owner, to be loaded after
// a while.
func (t *taker) orphaned(k store.Key, or orphan) {
	or.due = time.Now().Add(wake.Backoff(or.tries, 5*time.Minute))
	t.mu.Lock()
	if old := t.orphans[k]; old != nil {
		or.lost, or.ran = max(or.lost, old.lost), or.ran || old.ran
	}
	t.orphans[k] = &or
	t.mu.Unlock()
	t.look()
}

// adopt removes an orphan from t and returns what is known of it.
func (t *taker) adopt(k store.Key) orphan {
	t.mu.Lock()
	defer t.mu.Unlock()
	or := t.orphans[k]
	if or == nil {
		return orphan{}
	}
	delete(t.orphans, k)
	return *or
}

// orphan notes that o's task has no owner any more because a write failed.
func (o *Owner) orphan(err error) {
	if !errors.Is(err, store.ErrConflict) && stored.Certain(err) {
		return // this process does not have the task
	}
	o.mu.Lock()
	or := orphan{lost: o.turn.lost, ran: true, tries: o.saved.tries + 1}
	o.mu.Unlock()
	if !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrBusy) &&
		!errors.Is(err, store.ErrUnreachable) {
		or.lost++ // perhaps this very task cannot be written
	}
	o.all.taker.orphaned(o.key, or)
}

// again notes that a task without an owner could not be given one.
func (t *taker) again(k store.Key) {
	t.mu.Lock()
	or := t.orphans[k]
	t.mu.Unlock()
	switch {
	case or == nil:
		t.orphaned(k, orphan{})
	case time.Until(or.due) <= 0:
		next := *or
		next.tries++
		t.orphaned(k, next)
	}
}

// due returns how long it is until there is something to do, unless a hint comes first.
func (t *taker) due() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claims || t.draws || t.search {
		return 0
	}
	wait := time.Hour
	for _, or := range t.orphans {
		wait = min(wait, time.Until(or.due))
	}
	return wait
}

// ripe returns up to n orphans whose time has come. They stay in t until they
// are loaded.
func (t *taker) ripe(n int) (keys []store.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, or := range t.orphans {
		if len(keys) == n {
			break
		}
		if time.Until(or.due) <= 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// TakeUp resumes tasks that have lost their process or their owner, until ctx ends.
func (os *Owners) TakeUp(ctx context.Context) {
	t, failures := os.taker, 0
	for ctx.Err() == nil {
		if wait := t.due(); wait > 0 {
			select {
			case <-t.hint:
			case <-time.After(wait):
			case <-ctx.Done():
			}
			continue
		}
		if !os.Healthy(ctx) {
			return
		}
		if err := os.takeSome(ctx, os.Admission.Reserve(ctx, takeBatch)); err == nil {
			failures = 0
		} else if ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			os.Log.Warn("tasks could not be claimed; trying again", "error", err)
			wake.Pause(ctx, wake.Backoff(failures, 30*time.Second))
			failures++
		} else {
			return
		}
	}
}

// takeSome uses up to n slots, as far as there is capacity: for orphans first, then for tasks
// of dead processes, then for tasks that wait for capacity. It gives back the slots that it
// does not need.
func (os *Owners) takeSome(ctx context.Context, n int) error {
	t := os.taker
	defer func() { os.Admission.Free(n) }()
	if n == 0 {
		return nil
	}
	t.mu.Lock()
	search := t.search
	t.mu.Unlock()
	if search {
		if err := os.search(ctx); err != nil {
			return err
		}
	}
	for _, k := range t.ripe(min(n, os.Admission.Left())) {
		if os.retake(ctx, k) {
			n--
		}
	}
	for _, more := range []func(context.Context, int) (int, error){os.claim, os.draw} {
		if most := min(n, os.Admission.Left()); most > 0 {
			used, err := more(ctx, most)
			n -= used
			if err != nil {
				return err
			}
		}
	}
	t.mu.Lock()
	more := t.claims || t.draws
	t.mu.Unlock()
	if !more {
		os.Admission.Behind(false)
	}
	return nil
}

// claim takes up to n tasks of dead processes.
func (os *Owners) claim(ctx context.Context, n int) (slots int, _ error) {
	return os.obtain(ctx, n, &os.taker.claims, false, func() ([]store.Row, error) {
		return os.Store.Claim(ctx, os.Node, os.Nodes.DeadBefore(), n)
	})
}

// obtain takes tasks from the store with call, if there may be any (due), and gives them
// owners. call returns up to n tasks; fewer mean that there are no more. obtain returns how
// many slots the tasks use.
func (os *Owners) obtain(ctx context.Context, n int, due *bool, drawn bool, call func() ([]store.Row, error)) (slots int, _ error) {
	t := os.taker
	t.mu.Lock()
	is := *due
	*due = false
	t.mu.Unlock()
	if !is {
		return 0, nil
	}
	rows, err := call()
	if ctx.Err() == nil {
		os.Wrote(err)
	}
	t.mu.Lock()
	if err != nil {
		t.search = true // the call may have taken effect, and repeating it does not return those tasks
	}
	if err != nil || len(rows) == n {
		*due = true
	}
	t.mu.Unlock()
	for i := range rows {
		if !drawn {
			os.Meters.tookOver(ctx, rows[i].Key)
		}
		if os.revive(ctx, &rows[i], drawn) {
			slots++
		}
	}
	return slots, err
}

// retake takes up an orphan, if it still is one.
func (os *Owners) retake(ctx context.Context, k store.Key) bool {
	rec, err := os.Store.Get(ctx, k, store.RowOnly)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && (!rec.Active || rec.Node != os.Node):
		os.taker.adopt(k) // it ended, or is another process's
		return false
	case err != nil:
		os.taker.again(k)
		return false
	}
	return os.revive(ctx, &rec.Row, false)
}

// revive gives a task of this process an owner, and reports whether that uses a slot. A task
// that cannot be loaded does not keep others from running: it is an orphan until it can.
func (os *Owners) revive(ctx context.Context, row *store.Row, drawn bool) bool {
	o, _, err := os.ownAs(ctx, row.Key, nil, drawn, takePatience)
	if err == nil && o.lease.next < row.Epoch {
		// The owner is an old one: the task was with other processes since.
		o.Evict()
		o.Release()
		o, _, err = os.ownAs(ctx, row.Key, nil, drawn, takePatience)
	}
	switch {
	case err == nil:
		defer o.Release()
		os.taker.adopt(row.Key)
		return o.occupy()
	case !orphaning(err):
		os.taker.adopt(row.Key)
	case wake.Closed(os.Draining):
		if drawn {
			os.taker.unbegun(row.Key)
		}
	case errors.Is(err, budget.ErrFull):
		os.Log.Info("no memory to take a task up; trying again later", "task", row.ID)
		os.taker.again(row.Key)
	default:
		os.Log.Error("task cannot be taken up; trying again later", "task", row.ID, "error", err)
		os.taker.again(row.Key)
	}
	return false
}

// takePatience is how long a large task that is taken up waits for memory before the next task
// has its turn.
const takePatience = time.Second

// orphaning reports whether a task may be this process's nevertheless, although it could not be
// given an owner because of err.
func orphaning(err error) bool {
	return !errors.Is(err, a2a.ErrTaskNotFound) && !errors.Is(err, place.ErrTaken) && !errors.Is(err, a2a.ErrRateLimited)
}

// SlotTime is how long a task holds its slot after its run began if its agent emits nothing:
// long enough for most agents that are about to emit something or fail.
const SlotTime = 250 * time.Millisecond

// occupy gives o a slot until an entry of its agent is committed, the agent has run for
// SlotTime, or o leaves. It returns false if o does not need one.
func (o *Owner) occupy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.adm.slot || o.phase == phaseClosed || o.draft.state.Terminal() || !active(o.draft.state) && o.turn.canceling == nil && o.phase != phaseResting {
		return false
	}
	o.adm.slot = true
	time.AfterFunc(o.adm.rest+SlotTime, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.vacateLocked()
	})
	return true
}

func (o *Owner) vacateLocked() {
	if o.adm.slot {
		o.adm.slot = false
		o.all.Admission.Free(1)
	}
}

// search finds the tasks that a claim gave to this process before it failed. It reads the whole
// index, so it is only done after such a failure.
func (os *Owners) search(ctx context.Context) error {
	var after *store.Key
	for {
		const page = 1000
		rows, err := os.Store.Tasks(ctx, after, page)
		if err != nil {
			return err
		}
		for i := range rows {
			if r := &rows[i]; r.Active && r.Node == os.Node && !os.Owned(r.Key) {
				os.taker.orphaned(r.Key, orphan{})
			}
		}
		if len(rows) < page {
			break
		}
		after = &rows[len(rows)-1].Key
	}
	os.taker.mu.Lock()
	os.taker.search = false
	os.taker.mu.Unlock()
	return nil
}

// Owned reports whether a task has an owner here.
func (os *Owners) Owned(k store.Key) bool {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	return os.OwnedLocked(k)
}

// OwnedLocked reports whether a task has an owner here. The lock is held.
func (os *Owners) OwnedLocked(k store.Key) bool { return os.m[k] != nil }

// awaitLocked makes the task wait for its agent, which this process does not have. In the store
// the task stays as it is, and this process's, until the agent comes.
func (o *Owner) awaitLocked() {
	o.log().Info("task waits for its agent, which is not there")
	o.enterLocked(phaseNoAgent)
	o.createLocked()
	o.nudge()
}

// awaiting notes a task that has no owner and waits for its agent.
func (os *Owners) awaiting(k store.Key) {
	os.taker.mu.Lock()
	os.taker.awaiting[k] = struct{}{}
	os.taker.mu.Unlock()
	if os.Agent(k) != nil { // the agent came meanwhile
		os.Arrived(func(other store.Key) bool { return other == k })
	}
}

// Arrived resumes the tasks selected by is, whose agents have come.
func (os *Owners) Arrived(is func(store.Key) bool) {
	t := os.taker
	t.mu.Lock()
	for k := range t.awaiting {
		if is(k) {
			delete(t.awaiting, k)
			if t.orphans[k] == nil {
				t.orphans[k] = &orphan{}
			}
		}
	}
	t.mu.Unlock()
	t.look()
}
