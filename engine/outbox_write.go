package engine

import (
	"context"
	"errors"
	"time"

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
func (o *outbox) record(ctx context.Context, a *advance) error {
	a.done = make(chan error, 1)
	ended := ctx.Done()
	for {
		select {
		case o.advances <- a: // there is a writer for as long as anybody delivers
			return a.wait(ctx)
		case <-ended:
			if context.Cause(ctx) == errDropped {
				return errDropped
			}
			ended = nil
		}
	}
}

func (a *advance) wait(ctx context.Context) error {
	ended := ctx.Done()
	for {
		select {
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
func (o *outbox) write(ctx, over context.Context) {
	for {
		var batch []*advance
		select {
		case a := <-o.advances:
			batch = append(batch, a)
		case <-over.Done():
			return
		}
		for more := true; more && len(batch) < o.limit.running; {
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

// persist tries until it works, and often enough that trouble does not look as
// if it were over. To say the same twice does no harm.
func (o *outbox) persist(ctx, over context.Context, all []store.Advance) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, probeEvery/2) {
		err := o.e.store.Advance(over, all)
		o.e.wrote(err)
		if err == nil || errors.Is(err, store.ErrClosed) || ctx.Err() != nil {
			return err
		}
		pause(ctx, wait)
	}
}
