package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// advance is a change of progress on its way to the disk.
type advance struct {
	store.Advance
	done chan error
}

// record stores the progress of a delivery, and waits for it even if ctx ends, so that what was
// delivered is known. A configuration that was dropped needs no progress.
func (o *Outbox) record(ctx context.Context, a *advance) error {
	a.done = make(chan error, 1)
	to, ended := o.advances, ctx.Done()
	for {
		select {
		case to <- a: // there is a writer as long as there are deliveries
			to = nil
		case err := <-a.done:
			return err
		case <-ended:
			if context.Cause(ctx) == errDropped {
				return errDropped
			}
			ended = nil
		}
	}
}

// write stores what record is given, until over ends. Changes that come together share a
// commit. While the store fails, nothing else is delivered: it could not be recorded, and would
// be sent again and again. Once ctx ends, each change is tried only once more; what is not
// recorded then is delivered again later, under the same id.
func (o *Outbox) write(ctx, over context.Context) {
	for {
		var batch []*advance
		select {
		case a := <-o.advances:
			batch = append(batch, a)
		case <-over.Done():
			return
		}
		for more := true; more && len(batch) < mostPosts; {
			select {
			case a := <-o.advances:
				batch = append(batch, a)
			default:
				more = false
			}
		}
		all := make([]store.Advance, len(batch))
		for i, a := range batch {
			all[i] = a.Advance
		}
		err := o.persist(ctx, over, all)
		for _, a := range batch {
			a.done <- err
		}
	}
}

// mostPause is the longest pause between two tries of a write: half of the time without
// failures after which the engine takes the store to be working again.
const mostPause = 500 * time.Millisecond

// persist tries until it works. Storing the same progress twice does no harm.
func (o *Outbox) persist(ctx, over context.Context, all []store.Advance) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, mostPause) {
		err := o.e.Store.Advance(over, all)
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
