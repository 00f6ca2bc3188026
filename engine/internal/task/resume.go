package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// load folds the log of a stored task and makes o its owner. If the task was at work in a
// process that is dead, the store gives it to this process, so that no other claims it, too;
// any other task gets a higher epoch with its first append. If the task needs a process, the
// agent runs again from the top of its turn. If the task waits for capacity, it is left to the
// process that draws it.
func (o *Owner) load(ctx context.Context, drawn bool, patience time.Duration) error {
	rec, err := o.all.inherit(ctx, o.key)
	if err != nil {
		return err
	}
	entries, err := o.readLog(ctx, rec.Last, patience)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.contextID = rec.Context
	o.saved.last, o.saved.epoch, o.saved.row = rec.Last, rec.Epoch, rec.Row
	o.out.exists = true
	waits := rec.Active && rec.Node == ""
	if rec.Node != o.all.Node && !waits {
		o.saved.row.Epoch = rec.Epoch + 1
	}
	o.lease = lease{rec.Node, rec.Epoch, o.saved.row.Epoch, rec.Last, drawn}
	o.saved.wanted = rec.Active
	task := &a2a.Task{}
	work := workClock{waits: o.all.Admission.Waited}
	var behind a2a.EntryKind
	for _, en := range entries {
		answers := en.Kind == a2a.EntryMessage && o.draft.state == a2a.TaskStateAuthRequired
		task.Apply(en)
		o.draft.replay(en)
		o.auth.replay(en, behind)
		work.add(en)
		o.mem.weight += stored.Weight(en)
		o.out.last, behind = en.Time, en.Kind
		if r := en.Received; r != nil && o.tracing.first.parent == "" {
			o.tracing.first = spanText{r.Trace, r.TraceState}
		}
		if rec.Turn == 0 || en.Seq < rec.Turn {
			continue
		}
		switch en.Kind {
		case a2a.EntryMessage:
			// Reopen matters only for tasks of version 0.1.
			p := &Post{Message: en.Message, From: recall(o.key, en.Received), Entry: en, Reopen: true}
			p.Settled.Give()
			switch {
			case p.From.credentials: // which were not kept: the agent asks again
			case answers: // in the log of a release that kept them
				o.auth.came = append(o.auth.came, credentials{p, p.Message, o.auth.prompt})
			default:
				o.turn.messages = append(o.turn.messages, p)
			}
		case a2a.EntryStep:
			o.turn.steps.replay(en.Step)
		case a2a.EntryCancel:
			o.turn.canceling = &Post{}
			o.turn.canceling.Settled.Give()
		case a2a.EntryStatus:
			if en.Status.Status.State == a2a.TaskStateSubmitted {
				// The message that began this turn had come in the turn before.
				o.turn.steps, o.turn.canceling = nil, nil
			}
		}
	}
	o.chargeLocked()
	o.adm.worked = work.total
	or := o.all.taker.adopt(o.key)
	o.saved.tries = or.tries
	o.turn.lost = max(rec.Lost, or.lost)
	o.turn.attempt = runs(&rec.Row, o.saved.row.Epoch)
	o.turn.taken = len(o.turn.messages)
	if waits || drawn {
		o.turn.attempt = max(rec.Attempt, rec.Lost) // the agent has not run since that was written
	}
	o.topic.Adopt(o, task, rec.Last)
	if waits {
		o.topic.Open()
		o.enterLocked(phaseYielding)
		return nil
	}
	o.enterLocked(phaseIdle)
	if o.draft.state.Terminal() || !active(o.draft.state) && o.turn.canceling == nil && !rec.Active {
		return nil
	}
	return o.resumeLocked(rec.Attempt > 0 && (o.turn.lost > 0 || or.ran))
}

// readLog returns the log of the task. Holding all entries costs little: the task shares most of
// their content. A large task waits for memory.
func (o *Owner) readLog(ctx context.Context, last int64, patience time.Duration) (entries []*a2a.Entry, _ error) {
	var size int64
	for en, err := range o.all.Read.Entries(ctx, o.key, last) {
		if err != nil {
			return nil, o.all.Read.Unread(ctx, err, o.key)
		}
		entries = append(entries, en)
		if o.all.Weights == nil || size > budget.Small {
			continue
		}
		if size += stored.Weight(en); size > budget.Small { // now that the task is known to be large
			sized, err := o.all.Store.Get(ctx, o.key, store.RowOnly+1)
			if err != nil {
				return nil, o.all.Read.Unread(ctx, err, o.key)
			}
			if err := o.all.waitFor(ctx, &o.mem.hold, max(sized.Size, size), patience); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// inherit returns the record of a task that this process may write.
func (os *Owners) inherit(ctx context.Context, k store.Key) (*store.Record, error) {
	rec, err := os.Store.Get(ctx, k, store.RowOnly)
	if err == nil && rec.Active && rec.Node != os.Node && rec.Node != "" {
		var row *store.Row
		switch row, err = os.Store.Take(ctx, os.Node, os.Nodes.DeadBefore(), k); {
		case err == nil:
			os.Meters.tookOver(ctx, k)
			rec.Row = *row
		case errors.Is(err, store.ErrNotFound):
			// It was claimed in between, or its process is alive.
			if rec, err = os.Store.Get(ctx, k, store.RowOnly); err == nil && rec.Active && rec.Node != os.Node && rec.Node != "" {
				return nil, NotHere(&rec.Row)
			}
		default:
			// Nothing was changed, so the caller may ask again: the store may work by then.
			os.Wrote(err)
			return nil, stored.Unwritten(stored.Failed(err, "take over task "+k.ID))
		}
	}
	if err != nil {
		return nil, os.Read.Unread(ctx, err, k)
	}
	return rec, nil
}

// runs returns how often the agent was run in a task's current turn; epoch is that of the next
// owner. The row has the number as of the last append. A run that died before its first append
// is only known from the claim that followed, which counted a lost process or, in the first
// turn, raised the epoch.
func runs(r *store.Row, epoch int64) int32 {
	n := max(r.Attempt, r.Lost)
	const firstTurn = 2 // seq of the first message, after the created entry
	if r.Turn == firstTurn {
		n = max(n, int32(epoch-1))
	}
	return n
}

// resumeLocked resumes a task that has lost its owner. interrupted means that the agent was at
// work and was not stopped in good order.
func (o *Owner) resumeLocked(interrupted bool) error {
	lost, limit := o.turn.lost, int32(o.all.MaxLost)
	is := o.all.Agent(o.key)
	var declared agent.Lost
	if is != nil {
		declared = is.declared
	}
	if declared.Runs > 0 {
		limit = int32(declared.Runs)
	}
	if interrupted {
		o.traceLostLocked()
	}
	switch {
	case o.turn.canceling != nil:
		return o.emitLocked(o.status(a2a.TaskStateCanceled, nil))
	case len(o.turn.messages) == 0:
		return o.emitLocked(o.failure("the task was interrupted before its work began"))
	case is == nil:
		o.awaitLocked()
		return nil
	case interrupted && declared.Fail != "":
		o.log().Info("task failed as its agent declared", "lost", lost)
		return o.emitLocked(o.failure(declared.Fail))
	case o.all.limits.Load().Wall > 0 && o.adm.worked >= o.all.limits.Load().Wall:
		return o.emitLocked(o.tooLong())
	case lost >= limit:
		o.log().Error("task given up: the process ended while it was at work", "lost", lost)
		return o.emitLocked(o.failure(interruptions(lost)))
	}
	o.enterLocked(phaseResting)
	o.tracing.takenOver = interrupted
	if lost > 1 { // one loss is an accident
		o.adm.rest = wake.Backoff(int(lost)-2, maxRest)
	}
	if o.lease.drawn && o.turn.attempt == 0 {
		return nil // the task begins like any other
	}
	o.log().Info("task resumed", "attempt", o.turn.attempt+1, "lost", lost, "in", o.adm.rest.Round(time.Millisecond))
	return nil
}

func interruptions(lost int32) string {
	if lost == 1 {
		return "the work was interrupted and was given up"
	}
	return fmt.Sprintf("the work was interrupted %d times and was given up", lost)
}

// maxRest is the longest time between two runs.
const maxRest = 30 * time.Second

// endRest runs the agent after the time between two runs (rested), unless the process drains, a
// caller is about to act, or there is no capacity. Messages that came meanwhile are in the log,
// and the agent gets them when it asks.
func (o *Owner) endRest(rested bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase != phaseResting {
		return
	}
	if o.ctx.Err() != nil {
		o.enterLocked(phaseIdle)
		if o.lease.drawn && !o.out.used {
			o.all.taker.unbegun(o.key)
		}
		return
	}
	// A caller may cancel the task. One that waits for memory does not delay the run: it may
	// wait for what this task gives back.
	acting := o.holds > o.mem.callers
	// A task that waits for an authorization needs no capacity.
	room := !active(o.draft.state) || o.all.Admission.MayRun(&o.adm.ticket)
	if rested && !acting && room {
		o.startLocked()
	}
}
