package engine

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// advance is a change of progress on its way to the disk.
type advance struct {
	store.Advance
	done chan error
}

// record stores the progress of a delivery. Those of many that come together
// share a commit. If it fails the delivery happens again, under the same id.
func (o *outbox) record(ctx context.Context, a *advance) error {
	a.done = make(chan error, 1)
	select {
	case o.advances <- a:
		return <-a.done
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write stores what record is given, until ctx ends.
func (o *outbox) write(ctx context.Context) {
	for {
		var batch []*advance
		select {
		case a := <-o.advances:
			batch = append(batch, a)
		case <-ctx.Done():
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
		// Begun, it is finished: what was delivered should be known.
		err := o.e.store.Advance(context.WithoutCancel(ctx), all)
		for _, a := range batch {
			a.done <- err
		}
	}
}
