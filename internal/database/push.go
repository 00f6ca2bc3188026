package database

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/store"
)

// PushBatch is how many webhooks or dead letters are read at once.
const PushBatch = 500

// EachPush calls f for every webhook in a database, whose AllPushes is list, in the order in
// which they were created.
func EachPush(ctx context.Context, list func(ctx context.Context, after int64, limit int) ([]store.PushState, error), f func(*store.PushState) error) error {
	for after := int64(0); ; {
		page, err := list(ctx, after, PushBatch)
		if err != nil {
			return err
		}
		for i := range page {
			if err := f(&page[i]); err != nil {
				return err
			}
			after = page[i].At
		}
		if len(page) < PushBatch {
			return nil
		}
	}
}

// CountIdle counts tasks whose state has not changed since a time.
func CountIdle(ctx context.Context, idle func(context.Context, store.IdleQuery) ([]store.Row, error), state int32, before time.Time) (n int, err error) {
	q := store.IdleQuery{State: state, Before: before, Limit: 1000}
	for {
		rows, err := idle(ctx, q)
		if n += len(rows); err != nil || len(rows) < q.Limit {
			return n, err
		}
		q.After = &rows[len(rows)-1]
	}
}

// EachLetters calls f with all dead letters of a database, whose DeadLetters is list, page by
// page.
func EachLetters(ctx context.Context, list func(context.Context, store.LetterQuery) ([]store.DeadLetter, error), f func([]store.DeadLetter) error) error {
	q := store.LetterQuery{Limit: PushBatch}
	for {
		page, err := list(ctx, q)
		if err != nil {
			return err
		}
		if len(page) > 0 {
			q.After = new(page[len(page)-1])
			if err := f(page); err != nil {
				return err
			}
		}
		if len(page) < PushBatch {
			return nil
		}
	}
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
	err = EachLetters(ctx, st.DeadLetters, func(page []store.DeadLetter) error {
		var again []store.DeadLetter
		for _, l := range page {
			if has(l.PushID) {
				l.Again = true
				again = append(again, l)
				if n := len(r.IDs); n == 0 || r.IDs[n-1] != l.PushID {
					r.IDs = append(r.IDs, l.PushID)
				}
			}
		}
		r.Letters += len(again)
		if len(again) == 0 {
			return nil
		}
		return st.SetLetters(ctx, again, false)
	})
	if err != nil {
		return r, err
	}
	var changed []store.Advance
	flush := func() error {
		defer func() { changed = changed[:0] }()
		if len(changed) == 0 {
			return nil
		}
		return st.Advance(ctx, changed)
	}
	err = EachPush(ctx, st.AllPushes, func(p *store.PushState) error {
		if !has(p.PushID()) {
			return nil
		}
		switch PushDoes(p) {
		case PushDisabled:
			r.Enabled++
		case PushRetrying:
			r.Hastened++
		default:
			return nil
		}
		r.IDs = append(r.IDs, p.PushID())
		// The time for attempts, a day, starts again.
		changed = append(changed, store.Advance{PushID: p.PushID(), Created: p.Created, Progress: store.Progress{Cursor: p.Cursor}, Live: true})
		if len(changed) < PushBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return r, err
	}
	return r, flush()
}
