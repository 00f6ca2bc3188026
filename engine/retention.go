package engine

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Retention says how long tasks are kept, counted from the last change of their state.
// Zero keeps them for ever. A task is deleted as a whole: its log, its artifacts, and the
// files that no other task refers to. From then on it is not found. Tasks at work are
// never touched.
type Retention struct {
	// Completed is for completed tasks.
	Completed time.Duration
	// Failed is for failed, rejected and canceled tasks.
	Failed time.Duration
	// Waiting is for tasks whose client has left a question for input or authorization
	// unanswered for so long.
	Waiting time.Duration
}

// ages returns how long each state is kept, without those kept for ever.
func (r *Retention) ages() map[a2a.TaskState]time.Duration {
	ages := map[a2a.TaskState]time.Duration{
		a2a.TaskStateCompleted:     r.Completed,
		a2a.TaskStateFailed:        r.Failed,
		a2a.TaskStateRejected:      r.Failed,
		a2a.TaskStateCanceled:      r.Failed,
		a2a.TaskStateInputRequired: r.Waiting,
		a2a.TaskStateAuthRequired:  r.Waiting,
	}
	maps.DeleteFunc(ages, func(_ a2a.TaskState, age time.Duration) bool { return age <= 0 })
	return ages
}

// How the sweeper works: often enough that a task is kept little longer than it should be, in
// batches too small to be noticed, and for at most a fifth of the time, so that writers have
// the rest.
const (
	sweepBatch    = 16
	receiptBatch  = 128
	sweepShare    = 4 // pauses are this many times as long as the batch before
	minSweepPause = 5 * time.Millisecond
	minSweep      = time.Second
	maxSweep      = 10 * time.Minute

	maxReceiptSweep = time.Hour
)

// sweepEvery returns how long the sweeper waits between sweeps, without jitter. window is how
// long receipts count; they are small and do no harm, so they alone need no sweep more often
// than once a minute.
func sweepEvery(ages map[a2a.TaskState]time.Duration, window time.Duration) time.Duration {
	every := min(maxReceiptSweep, max(window/10, time.Minute))
	for _, age := range ages {
		every = min(every, maxSweep, age/10)
	}
	return max(every, minSweep)
}

// retain deletes tasks that are older than Options.Retention, and receipts of messages that are
// older than Options.Retries.Window, until ctx ends. Of the processes that share a store, one
// does so.
func (e *Engine) retain(ctx context.Context) {
	ages, window := e.opts.Retention.ages(), e.opts.Retries.window()
	if len(ages) == 0 && window == 0 {
		return
	}
	every := sweepEvery(ages, window)
	d := e.nodes.Duty("retention", max(2*every, place.MinTerm))
	defer d.Resign()
	// Processes that start together must not sweep together.
	for wait := rand.N(every); wake.Pause(ctx, wait) == nil; wait = every*3/4 + rand.N(every/2) {
		switch mine, err := d.Serves(ctx); {
		case err != nil && ctx.Err() == nil:
			e.log.Error("old tasks could not be looked up; trying again later", "error", err)
		case mine:
			e.sweep(ctx, ages, d)
			if window > 0 {
				e.sweepReceipts(ctx, d)
			}
		}
	}
}

// sweep deletes the tasks that are old now. The next sweep retries what failed.
func (e *Engine) sweep(ctx context.Context, ages map[a2a.TaskState]time.Duration, d *place.Duty) {
	at, deleted := e.Now(), 0
	for state, age := range ages {
		x := store.Expiry{
			State:   int32(state),
			Before:  at.Add(-age),
			Batch:   sweepBatch,
			Keep:    func(r *store.Row) bool { return !e.owners.Retire(r.Key) },
			Deleted: e.deletedAll,
			Pause: func(took time.Duration) error {
				d.Renew(ctx)
				return sweepPause(ctx, took)
			},
		}
		n, err := x.Run(ctx, e.store)
		deleted += n
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			e.log.Error("old tasks could not be deleted; trying again later", "state", state.String(), "error", err)
		}
	}
	if deleted > 0 {
		e.log.Info("old tasks deleted", "tasks", deleted)
	}
}

// sweepReceipts deletes the receipts of messages that need not be recognized any more.
func (e *Engine) sweepReceipts(ctx context.Context, d *place.Duty) {
	q := store.ForgetQuery{Before: e.Now(), Limit: receiptBatch}
	for forgotten := q.Limit; forgotten == q.Limit; {
		began := time.Now()
		var err error
		forgotten, err = e.store.Forget(ctx, q)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e.log.Error("receipts of old messages could not be deleted; trying again later", "error", err)
			return
		}
		d.Renew(ctx)
		if sweepPause(ctx, time.Since(began)) != nil {
			return
		}
	}
}

// sweepPause leaves the store to others after a batch.
func sweepPause(ctx context.Context, took time.Duration) error {
	return wake.Pause(ctx, max(took*sweepShare, minSweepPause))
}
