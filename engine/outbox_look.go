package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/store"
)

// lookEvery is the shortest time between two looks at the store.
const lookEvery = time.Second

// lookOut looks into the store at the start, when there is room for what was left
// out, and now and then, until ctx ends. However much there is to look at, it
// takes no more than a small part of the time.
func (o *outbox) lookOut(ctx context.Context) {
	every, share := o.limit.look, time.Duration(100)
	if o.e.opts.deadAfter() > 0 {
		every, share = o.limit.poll, 10 // others write to logs and die, and tell nobody
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for ctx.Err() == nil {
		begun := time.Now()
		err := o.look(ctx)
		took := time.Since(begun)
		if err != nil {
			o.complain(ctx, "webhooks could not be looked up; it is tried again", err)
			nudge(o.looks)
		}
		pause(ctx, max(lookEvery, 10*took))
		timer.Reset(max(every, share*took))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-o.looks:
		}
	}
}

// look finds the configurations that this process has to deliver and does not
// know: those of processes that are gone, and those that were too many.
func (o *outbox) look(ctx context.Context) error {
	const batch = 500
	// After a pause of this process others may only seem to be dead.
	for n := batch; n == batch && !o.e.lapsed(); {
		var err error
		if n, err = o.e.store.ClaimPushes(ctx, o.e.node, o.e.deadBefore(), batch); err != nil {
			return err
		}
	}
	o.mu.Lock()
	var skipped []*receiver
	for _, h := range o.hosts {
		if h.skipped {
			h.skipped = false
			skipped = append(skipped, h)
		}
		o.tidyLocked(h)
	}
	o.missed = map[store.Key]int64{}
	o.watched.Add(1) // so that there is nobody whose news are not asked for
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		o.missed = nil
		o.watched.Add(-1)
		o.mu.Unlock()
	}()
	for after := int64(0); ; {
		page, err := o.e.store.LivePushes(ctx, o.e.node, after, batch)
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
		o.mu.Unlock()
		if len(page) < batch {
			return nil
		}
	}
}

// complain logs trouble of our own, which many may have at a time.
func (o *outbox) complain(ctx context.Context, what string, err error) {
	if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
		return
	}
	o.mu.Lock()
	more, ok := o.troubled.say(time.Now())
	o.mu.Unlock()
	if ok {
		o.e.log.Error(what, "error", err, "more", more)
	}
}
