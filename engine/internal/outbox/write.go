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

// record stores the progress of a delivery, and waits for it even if ctx ends:
// what was delivered should be known. A configuration that is gone needs no
// progress.
func (o *Outbox) record(ctx context.Context, a *advance) error {
	a.done = make(chan error, 1)
	to, ended := o.advances, ctx.Done()
	for {
		select {
		case to <- a: // there is a writer for as long as anybody delivers
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

// write stores what record is given, until over ends. Changes of many that come
// together share a commit. While the store fails nothing else is delivered: it
// could not be remembered, and would come again and again. Once ctx ends each
// is tried only once more; what is not known then is delivered again later,
// under the same id.
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

// mostPause between two tries of a write is half the time after which an engine
// that hears of no failure takes the store's trouble to be over.
const mostPause = 500 * time.Millisecond

// persist tries until it works. To say the same twice does no harm.
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
