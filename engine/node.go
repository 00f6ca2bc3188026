package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// A process is a node of the store. If the store is shared each node beats, and
// one that does not for Options.DeadAfter loses its tasks to others. It may only
// have been paused: its writes are refused from then on, and before it trusts
// what it holds again it looks who has it.

// everyone is a time before which all nodes were last heard of: a store that
// is open here is open nowhere else, so every other node is gone, whatever the
// clock says. nobody is one before all that there are: those that left are gone,
// and no others.
var (
	everyone = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	nobody   = time.UnixMilli(0)
)

// deadBefore is when a node must have beaten to be alive. If the store was out of
// reach, for all of them perhaps, the others must have had the time to beat again:
// nobody is dead until it has answered for half of DeadAfter on end.
func (e *Engine) deadBefore() time.Time {
	d := e.opts.deadAfter()
	if d <= 0 {
		return everyone
	}
	if since := e.steady.Load(); since == nil || time.Since(*since) < d/2 {
		return nobody
	}
	return e.clock.now().Add(-d)
}

// lapsed reports whether others may have taken this node for dead since it last
// made sure of what it holds. Either clock tells: one stands still while the
// machine sleeps, the other may be set back.
func (e *Engine) lapsed() bool {
	d := e.opts.deadAfter()
	last := e.beaten.Load()
	if d <= 0 || last == nil {
		return false
	}
	return since(*last) > d
}

// since is how long ago a moment was, by the clock that says more.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// register is the first beat.
func (e *Engine) register(ctx context.Context) error {
	e.beating.Lock()
	defer e.beating.Unlock()
	if e.beaten.Load() != nil {
		return nil // of many who came first
	}
	at := time.Now()
	if err := e.pulse(ctx); err != nil {
		return err
	}
	e.beaten.Store(&at)
	return nil
}

// Registered reports whether the store knows of this process: from shortly after
// the start of Run.
func (e *Engine) Registered() bool { return e.beaten.Load() != nil }

// present makes sure that others know of this process before it has a task: they
// would take it. It may be asked before Run has got as far as that.
func (e *Engine) present(ctx context.Context) error {
	if !e.shares() || e.beaten.Load() != nil {
		return nil
	}
	if err := e.register(ctx); err != nil {
		return errUnwritten(failed(err, "register with the store"))
	}
	return nil
}

// heart beats until ctx ends, if the store is shared.
func (e *Engine) heart(ctx context.Context) {
	d := e.opts.deadAfter()
	if d <= 0 {
		return // nobody listens, and an idle process leaves the disk alone
	}
	tick := time.NewTimer(max(d/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := e.beat(ctx)
		for err == nil && e.lapsed() { // paused meanwhile
			err = e.beat(ctx)
		}
		if err == nil {
			e.taker.others()
			tick.Reset(max(d/4, time.Millisecond))
		} else {
			tick.Reset(max(d/16, time.Millisecond)) // others wait for this before they take it for dead
		}
	}
}

// beat tells the store that this node lives. If that comes late it looks what it
// has lost; until it knows, readers look for themselves.
func (e *Engine) beat(ctx context.Context) error {
	e.beating.Lock()
	defer e.beating.Unlock()
	at := time.Now()
	err := e.pulse(ctx)
	if ctx.Err() == nil && !e.slow(err) {
		e.wrote(err)
	}
	if err != nil {
		return err
	}
	if e.lapsed() {
		e.log.Warn("this process was silent for too long; looking which tasks others have taken over")
		if at, err = e.verifyAll(ctx, at); err != nil {
			return err
		}
	}
	e.beaten.Store(&at)
	return nil
}

// pulse is one beat, by the store's clock. It notes since when the store has
// answered without a gap: neither one of its own nor one of this process, and
// without a leap of its clock, after which the beats of others would look old.
func (e *Engine) pulse(ctx context.Context) error {
	d := e.opts.deadAfter()
	if d <= 0 {
		return e.store.Beat(ctx, e.node, time.Now())
	}
	within, cancel := context.WithTimeout(ctx, max(d/4, minBeat))
	defer cancel()
	at := time.Now()
	jumped, err := e.ask(within)
	if err == nil {
		err = e.store.Beat(within, e.node, e.clock.now())
	}
	if err != nil {
		e.steady.Store(nil)
		return err
	}
	if e.steady.Load() == nil || since(e.heard) > d/2 || jumped > d/8 {
		e.steady.Store(&at)
	}
	e.heard = at
	return nil
}

// slow reports whether a beat only took too long, for the first time: who is busy
// is not in trouble yet.
func (e *Engine) slow(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && since(e.heard) < e.opts.deadAfter()*3/4
}

// minBeat is how long a beat may take, at least.
const minBeat = time.Second

// verifyAll verifies all owners, and beats meanwhile. It returns the time of the
// last beat.
func (e *Engine) verifyAll(ctx context.Context, at time.Time) (time.Time, error) {
	e.mu.Lock()
	all := make([]*owner, 0, len(e.owners))
	for _, o := range e.owners {
		if o.ready.was() { // otherwise it is being loaded from the store
			all = append(all, o)
		}
	}
	e.mu.Unlock()
	for some := range slices.Chunk(all, rowsAtOnce) {
		keys := make([]store.Key, len(some))
		for i, o := range some {
			keys[i] = o.key
		}
		rows, err := e.rows(ctx, keys)
		if err != nil {
			return at, failed(err, "read tasks")
		}
		for _, o := range some {
			// One that is not there is not written yet, or deleted, which readers find out.
			if row, ok := rows[o.key]; ok && !o.has(&row) {
				e.evict(o)
			}
		}
		if now := time.Now(); now.Sub(at) > e.opts.deadAfter()/4 {
			if err := e.pulse(ctx); err != nil {
				return at, err
			}
			at = now
		}
	}
	return at, nil
}

// rowsAtOnce is how many rows are asked for at a time.
const rowsAtOnce = 500

// rows returns the rows of those of some tasks that there are.
func (e *Engine) rows(ctx context.Context, keys []store.Key) (map[store.Key]store.Row, error) {
	found, err := e.store.Rows(ctx, keys)
	if err != nil {
		return nil, err
	}
	rows := make(map[store.Key]store.Row, len(found))
	for _, r := range found {
		rows[r.Key] = r
	}
	return rows, nil
}

// lease is what gives an owner its task: the row as it was loaded, and the epoch
// with which it is written.
type lease struct {
	node  string
	epoch int64 // 0: the task is born here
	next  int64
}

// verify reports whether the store has the task as o's. If it has not, o goes.
func (e *Engine) verify(ctx context.Context, o *owner) (bool, error) {
	rec, err := e.store.Get(ctx, o.key, false)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return true, nil // not written yet, or deleted, which readers find out
	case err != nil:
		return false, failed(err, "read task "+o.key.ID)
	case o.has(&rec.Row):
		return true, nil
	}
	e.evict(o)
	return false, nil
}

// has reports whether a row, as it is stored now, says that the task is o's.
func (o *owner) has(r *store.Row) bool {
	return r.Node == o.e.node && r.Epoch == o.lease.next ||
		r.Node == o.lease.node && r.Epoch == o.lease.epoch // nothing was written since it was loaded
}

// evict ends an ownership that is another process's by now: the agent is told,
// callers are sent to the store, and whoever asks next loads the task anew.
func (e *Engine) evict(o *owner) {
	e.mu.Lock()
	if e.owners[o.key] == o {
		delete(e.owners, o.key)
	}
	o.mu.Lock()
	if !o.gone {
		if o.gone, o.err = true, errElsewhere(nil); o.yields {
			o.err = errPassed()
		} else {
			o.log().Warn("task was taken over by another process")
		}
		o.running, o.resting, o.starts = false, false, false // nobody waits for the agent
		o.pending, o.bytes, o.next = nil, 0, nil
		o.wake.ring()
	}
	o.mu.Unlock()
	e.mu.Unlock()
	o.ctx.end(agent.ErrEnded)
	o.topic.release(o, nil)
	o.nudge()
}

var errTaken = errors.New("engine: another process has the task")

// errElsewhere is what they get who need the task's owner: r, if not nil, says
// which it is.
func errElsewhere(r *store.Row) error {
	by := errTaken
	if r != nil {
		by = &elsewhere{r.Node, r.Epoch}
	}
	return &a2a.Error{
		Code:    a2a.CodeUnavailable,
		Message: "another process of this server works at the task; try again shortly",
		Cause:   by,
	}
}

// trusted reports whether what t holds may be shown: not if another process may
// have gone on with the task, and has.
func (e *Engine) trusted(ctx context.Context, t *topic) (bool, error) {
	if e.opts.deadAfter() <= 0 {
		return true, nil
	}
	o, waits := t.holder()
	// A task that waits for its client anybody may go on with, at any time.
	if o == nil || !waits && !e.lapsed() {
		return true, nil
	}
	return e.verify(ctx, o)
}

// byeWait is how long the end of a process may take after its agents had their
// time.
const byeWait = 2 * time.Second

// bye is the last this process does to the store: it leaves its tasks to others
// in good order. Those whose agents did not stop are taken from them first, as a
// process would that finds this one dead: nobody knows what they still do.
func (e *Engine) bye(ctx context.Context, quiet bool) error {
	if !quiet {
		e.mu.Lock()
		var stuck []store.Key
		for k := range e.owners {
			stuck = append(stuck, k)
		}
		e.mu.Unlock()
		dead := newID()
		if err := e.store.Leave(ctx, dead); err != nil { // so that they are lost once, not twice
			return err
		}
		for _, k := range stuck {
			rec, err := e.store.Get(ctx, k, false)
			if err == nil && rec.Node == e.node {
				_, err = e.store.Take(ctx, dead, everyone, k)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
	if err := e.store.Leave(ctx, e.node); err != nil {
		return err
	}
	return e.giveBack(ctx)
}
