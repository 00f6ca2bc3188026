package topic

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// poll is how often a reader asks the store for a task without an owner in this process, in
// case a hint was lost.
const poll = 5 * time.Second

// Await waits until the task, as committed, is in a state that end accepts, or has ended after
// the seq after, even if it was reopened since. ended is the seq of that end, 0 if the task has
// not ended. end must accept terminal states.
func (ts *Topics) Await(ctx context.Context, t *Topic, after int64, end func(a2a.TaskState) bool) (ended int64, _ error) {
	if g := t.look(); g.ended > after && !ts.stopping() {
		return ts.FirstEnd(ctx, t, after, g.ended, nil) // most tasks have ended by now, and no channel is needed
	}
	turn := after // the newest turn whose log was searched for an end
	for {
		g := t.watch() // before stopping: see WakeAll
		if ts.stopping() {
			return 0, stored.Stopping()
		}
		if g.ended > after {
			return ts.FirstEnd(ctx, t, after, g.ended, nil)
		}
		var row *store.Row
		var again <-chan time.Time
		if !g.known {
			var err error
			if row, err = ts.others.row(ctx, t); err != nil {
				return 0, err
			}
			if t.look().known {
				continue // the store may be ahead of what is published
			}
			g.state, g.last = a2a.TaskState(row.State), row.Last
			again = time.After(poll)
		}
		if end(g.state) {
			if g.state.Terminal() {
				return ts.FirstEnd(ctx, t, after, g.last, row)
			}
			return 0, nil
		}
		if row != nil && row.Turn > turn { // a later turn: the end may have been committed together with its beginning
			turn = row.Turn
			if ended, err := ts.FirstEnd(ctx, t, after, 0, row); ended > 0 || err != nil {
				return ended, err
			}
		}
		if g.lost != nil && !g.known {
			return 0, g.lost // otherwise the wait would never end
		}
		select {
		case <-g.changed:
		case <-again:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// FirstEnd returns the seq of the task's first end after the seq after. ended, if not 0, is an
// end that is known; the task may have ended before, gone on, and ended again since. row is the
// task's, if the caller has it.
func (ts *Topics) FirstEnd(ctx context.Context, t *Topic, after, ended int64, row *store.Row) (int64, error) {
	if row == nil {
		if end := t.endBehind(after, ended); end > 0 {
			return end, nil
		}
		var err error
		if row, err = ts.others.row(ctx, t); err != nil {
			return 0, err
		}
	}
	if row.Turn <= after {
		return ended, nil
	}
	for en, err := range ts.read.Rest(ctx, row, after) {
		if err != nil {
			return 0, err
		}
		if en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal() {
			return en.Seq, nil
		}
	}
	return ended, nil
}

// EndedAt returns the task that Await waited for, and the seq up to which it is folded: the
// task as of ended, even if it was reopened since, or as it is now if ended is 0.
func (ts *Topics) EndedAt(ctx context.Context, t *Topic, ended int64) (*a2a.Task, int64, error) {
	task, last, err := ts.LoadAt(ctx, t)
	if err == nil && ended > 0 && ended < last {
		if err := ts.read.MakeRoomFor(ctx, t.Key); err != nil {
			return nil, 0, err
		}
		task, err = ts.read.FoldTo(ctx, t.Key, ended)
		return task, ended, err
	}
	return task, last, err
}

// LongPoll returns the task and the seq of its last entry once its generation is higher than
// current, nothing more will come, or it has waited long enough. task is the task as of last.
// While LongPoll waits, it holds neither the task nor memory for it.
func (ts *Topics) LongPoll(ctx context.Context, t *Topic, task *a2a.Task, last, current int64) (*a2a.Task, int64, error) {
	long := time.After(ts.longest)
	state, generation := task.Status.State, task.Generation
	var seen *store.Row // it is shared, and may be older than the task
	for due := false; !due; {
		g := t.watch()
		if !g.known {
			g.state, g.generation = state, generation
		}
		if g.generation > current || g.state.Terminal() {
			break
		}
		var again <-chan time.Time
		if !g.known {
			row, err := ts.others.row(ctx, t)
			if err != nil {
				return nil, 0, err
			}
			if row != seen && row.Last != last {
				seen = row
				if task, last, err = ts.LoadAt(ctx, t); err != nil {
					return nil, 0, err
				}
				state, generation = task.Status.State, task.Generation
				continue
			}
			again = time.After(poll)
		}
		budget.From(ctx).Set(0)
		select {
		case <-g.changed:
		case <-again:
		case <-long:
			due = true
		case <-ts.draining:
			due = true
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
	return ts.LoadAt(ctx, t)
}
