package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// cancel puts a cancel request into the log of t's task, in whichever process the task is. The
// task is not finished as of last. cancel returns the seq after which the end to wait for
// comes.
func (e *Engine) cancel(ctx context.Context, t *topic.Topic, last int64, c *a2a.CancelRequested) (int64, error) {
	for n := 0; ; n++ {
		after, err := e.cancelHere(ctx, t, c)
		if !e.moved(err) {
			return max(last, after), err
		}
		if by := holderIn(err); by != nil {
			m := &memo{Cancel: &memoCancel{keyMemo(t.Key), []byte(c.Subject), c.Metadata}}
			answer, _, err := e.forward(ctx, t.Key, by, m)
			switch {
			case err == nil && answer.Error != nil:
				return 0, answer.Error.err()
			case err == nil:
				return max(last, answer.Seq), nil
			case err != errMoved:
				return 0, err
			}
		}
		// The other process may have acted on the request. A task that ended and was reopened
		// must not be canceled a second time.
		if done, err := e.canceledBehind(ctx, t.Key, last); done || err != nil {
			return last, err
		}
		if err := e.again(ctx, n); err != nil {
			return 0, err
		}
	}
}

// cancelHere is cancel for a task of this process: see Owner.RequestCancel.
func (e *Engine) cancelHere(ctx context.Context, t *topic.Topic, c *a2a.CancelRequested) (after int64, _ error) {
	if err := e.present(ctx); err != nil {
		return 0, err
	}
	o, err := e.owners.Acquire(ctx, t.Key)
	if err != nil {
		return 0, err
	}
	asked, after, err := o.RequestCancel(c)
	o.Release()
	if asked == nil || err != nil {
		return 0, err
	}
	select {
	case <-asked.Settled.Wait():
		return after, asked.Err // another process has the task, or the store cannot be written
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// canceledBehind reports whether the log has a cancel request or an end of the task after last.
func (e *Engine) canceledBehind(ctx context.Context, key store.Key, last int64) (bool, error) {
	rec, err := e.store.Get(ctx, key, store.RowOnly)
	if err != nil {
		return false, e.read.Unread(ctx, err, key)
	}
	for en, err := range e.read.Rest(ctx, &rec.Row, last) {
		switch {
		case err != nil:
			return false, err
		case en.Kind == a2a.EntryCancel, en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal():
			return true, nil
		}
	}
	return false, nil
}

func (e *Engine) serveCancel(ctx context.Context, m *memoCancel) (*memoAnswer, error) {
	t := e.topics.Join(m.Key.key())
	defer e.topics.Leave(t)
	after, err := e.cancelHere(ctx, t, &a2a.CancelRequested{Subject: string(m.Subject), Metadata: m.Metadata})
	if err != nil {
		return nil, err
	}
	return &memoAnswer{Seq: after}, nil
}
