package outbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// lookEvery is the shortest time between two looks at the store.
const lookEvery = time.Second

// lookOut looks for configurations in the store: at the start, when there is room for those
// that were left out, and from time to time, until ctx ends. However many there are, it takes
// only a small share of the time.
func (o *Outbox) lookOut(ctx context.Context) {
	every, share := dueEvery, time.Duration(100)
	if o.e.DeadAfter > 0 {
		// Other processes write to logs and die, and their hints may be lost.
		every, share = min(pollEvery, o.e.DeadAfter/4), 10
	}
	for ctx.Err() == nil {
		begun := time.Now()
		_, err := o.claim(ctx)
		if err == nil {
			err = o.look(ctx)
		}
		took := time.Since(begun)
		if err != nil {
			o.complain(ctx, "webhooks could not be looked up; trying again", err)
			wake.Nudge(o.looks)
		}
		o.linger(ctx, max(lookEvery, 10*took), nil)
		o.linger(ctx, max(every, share*took), o.looks)
	}
}

// linger waits for d or for a hint. It claims at once what processes leave meanwhile, and
// returns if there was something.
func (o *Outbox) linger(ctx context.Context, d time.Duration, hint <-chan struct{}) {
	over := time.After(d)
	for {
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-hint:
			return
		case <-o.leavings:
		}
		if n, err := o.claim(ctx); n > 0 || err != nil {
			wake.Nudge(o.looks)
			return
		}
		wake.Pause(ctx, lookEvery/10)
	}
}

// pushBatch is how many configurations are claimed or read at a time.
const pushBatch = 500

// claim takes over the configurations of dead processes.
func (o *Outbox) claim(ctx context.Context) (claimed int, _ error) {
	for {
		n, err := o.e.Claim(ctx, pushBatch)
		if claimed += n; err != nil || n < pushBatch {
			return claimed, err
		}
	}
}

// look finds the configurations that this process has to deliver but does not have in memory:
// those that it claimed, and those that were too many.
func (o *Outbox) look(ctx context.Context) error {
	o.mu.Lock()
	var skipped []*receiver
	for _, s := range o.subscribers {
		for _, h := range s.hosts {
			if h.skipped {
				h.skipped = false
				skipped = append(skipped, h)
			}
			o.tidyLocked(h)
		}
		o.partLocked(s)
	}
	o.looked++
	o.missed = map[store.Key]int64{}
	o.watched.Add(1) // so that News takes note of every task, see missed
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		o.missed = nil
		o.watched.Add(-1)
		o.mu.Unlock()
	}()
	for after := int64(0); ; {
		page, err := o.e.Store.LivePushes(ctx, o.e.Node, after, pushBatch)
		o.mu.Lock()
		if err != nil {
			for _, h := range skipped {
				h.skipped = true
			}
			o.mu.Unlock()
			return err
		}
		for i := range page {
			p := &page[i]
			o.foundLocked(&p.PushConfig, max(p.Last, o.missed[p.Key]))
			after = p.At
		}
		last := len(page) < pushBatch
		if last {
			o.unfoundLocked()
		}
		o.mu.Unlock()
		if last {
			return nil
		}
	}
}

// complain logs a failure of our own, which many deliveries may have at a time.
func (o *Outbox) complain(ctx context.Context, what string, err error) {
	if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
		return
	}
	o.mu.Lock()
	more, ok := o.troubled.say(time.Now())
	o.mu.Unlock()
	if ok {
		level := slog.LevelError
		if errors.Is(err, budget.ErrFull) { // what callers do is no fault of ours
			level = slog.LevelWarn
		}
		o.e.Log.Log(ctx, level, what, "error", err, "more", more)
	}
}
