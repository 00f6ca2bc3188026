package database

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/parley-a2a/parley/store"
)

// PushBatch is how many webhooks or dead letters are read at once.
const PushBatch = 500

// pages yields a list page by page; read gets the last element of the page before.
func pages[T any](size int, read func(last *T) ([]T, error)) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for last := (*T)(nil); ; {
			page, err := read(last)
			if !yield(page, err) || err != nil || len(page) < size {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// pushReader reads webhooks and their dead letters.
type pushReader interface {
	AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error)
	DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error)
}

// Pushes yields the pages of all webhooks after a position, in the order in which they were
// created.
func Pushes(ctx context.Context, st pushReader, after int64) iter.Seq2[[]store.PushState, error] {
	return pages(PushBatch, func(last *store.PushState) ([]store.PushState, error) {
		if last != nil {
			after = last.At
		}
		return st.AllPushes(ctx, after, PushBatch)
	})
}

// Letters yields the pages of all dead letters after one of them; nil: from the start.
func Letters(ctx context.Context, st pushReader, after *store.DeadLetter) iter.Seq2[[]store.DeadLetter, error] {
	return pages(PushBatch, func(last *store.DeadLetter) ([]store.DeadLetter, error) {
		return st.DeadLetters(ctx, store.LetterQuery{Limit: PushBatch, After: cmp.Or(last, after)})
	})
}

// CountIdle counts tasks whose state has not changed since a time.
func CountIdle(ctx context.Context, idle func(context.Context, store.IdleQuery) ([]store.Row, error), state int32, before time.Time) (n int, err error) {
	const size = 1000
	for page, err := range pages(size, func(last *store.Row) ([]store.Row, error) {
		return idle(ctx, store.IdleQuery{State: state, Before: before, Limit: size, After: last})
	}) {
		if n += len(page); err != nil {
			return n, err
		}
	}
	return n, nil
}

// States of a webhook's deliveries.
const (
	PushIdle      = "idle"      // everything is delivered, more may come
	PushPending   = "pending"   // there are entries to deliver
	PushRetrying  = "retrying"  // an attempt has failed, the next one is scheduled
	PushDisabled  = "disabled"  // the receiver wants no more deliveries
	PushCompleted = "completed" // everything is delivered, and no more will come
)

// PushDoes returns the state of a webhook's deliveries.
func PushDoes(p *store.PushState) string {
	switch {
	case !p.Live && p.Cursor < p.Last:
		return PushDisabled
	case !p.Live:
		return PushCompleted
	case p.Tries > 0:
		return PushRetrying
	case p.Cursor < p.Last:
		return PushPending
	}
	return PushIdle
}

// Redelivered counts what Redeliver has reset.
type Redelivered struct {
	Letters, Enabled, Hastened int
	IDs                        []store.PushID // the webhooks that deliver again
}

// Redeliver resets abandoned deliveries of the webhooks for which has returns true: dead
// letters, webhooks that their receiver had disabled, and those that wait for another
// attempt. A server delivers them when it starts, or when it is told to. After an error, the
// changes made so far stay.
func Redeliver(ctx context.Context, st Store, has func(store.PushID) bool) (r Redelivered, err error) {
	for page, err := range Letters(ctx, st, nil) {
		if err != nil {
			return r, err
		}
		var again []store.DeadLetter
		for _, l := range page {
			if !has(l.PushID) {
				continue
			}
			l.Again = true
			again = append(again, l)
			if n := len(r.IDs); n == 0 || r.IDs[n-1] != l.PushID {
				r.IDs = append(r.IDs, l.PushID)
			}
		}
		if r.Letters += len(again); len(again) == 0 {
			continue
		}
		if err := st.SetLetters(ctx, again, false); err != nil {
			return r, err
		}
	}
	for page, err := range Pushes(ctx, st, 0) {
		if err != nil {
			return r, err
		}
		var changed []store.Advance
		for i := range page {
			p := &page[i]
			does := PushDoes(p)
			switch {
			case !has(p.PushID()):
				continue
			case does == PushDisabled:
				r.Enabled++
			case does == PushRetrying:
				r.Hastened++
			default:
				continue
			}
			r.IDs = append(r.IDs, p.PushID())
			// The time for attempts, a day, starts again.
			changed = append(changed, store.Advance{PushID: p.PushID(), Created: p.Created, Progress: store.Progress{Cursor: p.Cursor}, Live: true})
		}
		if len(changed) == 0 {
			continue
		}
		if err := st.Advance(ctx, changed); err != nil {
			return r, err
		}
	}
	return r, nil
}
