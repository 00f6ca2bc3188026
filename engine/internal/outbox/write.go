package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// record stores the progress of a delivery, and waits for it even if ctx ends, so that what was
// delivered is known. A configuration that was dropped needs no progress.
func (o *Outbox) record(ctx context.Context, a *store.Advance) error {
	done := make(chan error, 1)
	o.writer.Add(*a, nil, 0, func(err error) { done <- err })
	ended := ctx.Done()
	for {
		select {
		case err := <-done:
			return err
		case <-ended:
			if context.Cause(ctx) == errDropped {
				return errDropped
			}
			ended = nil
		}
	}
}

// newWriter starts the writer of what record is given. Changes that come together share a
// commit. While the store fails, nothing else is delivered: it could not be recorded, and would
// be sent again and again. Once ctx ends, each change is tried only once more; what is not
// recorded then is delivered again later, under the same id.
func (o *Outbox) newWriter(ctx context.Context) *store.Queue[store.Advance] {
	return store.NewQueue(func(all []store.Advance) []error {
		return slices.Repeat([]error{o.persist(ctx, all)}, len(all))
	})
}

// mostPause is the longest pause between two tries of a write: half of the time without
// failures after which the engine takes the store to be working again.
const mostPause = 500 * time.Millisecond

// persist tries until it works. Storing the same progress twice does no harm.
func (o *Outbox) persist(ctx context.Context, all []store.Advance) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, mostPause) {
		err := o.e.Store.Advance(context.WithoutCancel(ctx), all)
		o.e.Wrote(err)
		if err == nil {
			o.e.Advanced(all)
		}
		if err == nil || errors.Is(err, store.ErrClosed) || ctx.Err() != nil {
			return err
		}
		wake.Pause(ctx, wait)
	}
}
