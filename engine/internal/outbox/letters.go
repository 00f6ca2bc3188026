package outbox

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Dead letters that an operator wants to be sent again are deliveries like others, with the
// same ids as before; those of one configuration are sent in order. The configuration may have
// ended or be disabled. Its other deliveries do not wait for the letters.

// readLetters looks for such letters at the start and then every lettersEvery, until ctx ends.
func (o *Outbox) readLetters(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		if err := o.findLetters(ctx); err != nil {
			o.complain(ctx, "dead letters could not be looked up; trying again", err)
		}
		select {
		case <-time.After(max(lettersEvery, 100*time.Since(begun))):
		case <-o.again: // an operator wants something to be sent
		case <-ctx.Done():
		}
	}
}

func (o *Outbox) findLetters(ctx context.Context) error {
	const batch = 500
	// If processes share the store, one of them sends the letters of all, because the
	// configurations may be of dead processes.
	if mine, err := o.e.SendsLetters(ctx); !mine || err != nil {
		return err
	}
	q := store.LetterQuery{Again: true, Limit: batch}
	var id store.PushID
	for {
		page, err := o.e.Store.DeadLetters(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			if page[i].PushID == id {
				continue
			}
			id = page[i].PushID
			if err := o.openLetters(ctx, id); err != nil {
				return err
			}
		}
		if len(page) < batch {
			return nil
		}
		q.After = &page[len(page)-1]
	}
}

// openLetters makes a delivery of the letters of a configuration, if there is room; if not, the
// next look finds them.
func (o *Outbox) openLetters(ctx context.Context, id store.PushID) error {
	o.mu.Lock()
	known := o.letters[id] != nil
	o.mu.Unlock()
	if known {
		return nil
	}
	p, err := o.e.Store.Push(ctx, id)
	if err == store.ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.hostLocked(p)
	if o.closed || h.pending >= mostWaiting {
		return nil
	}
	d := &delivery{id: id, created: p.Created, host: h, letters: true, place: -1}
	o.letters[id] = d
	h.refs++
	o.settleLocked(d)
	wake.Nudge(o.hint)
	return nil
}

// resend sends the dead letters of a configuration, in order, until one fails or others should
// have their turn.
func (w *courier) resend(ctx context.Context) (result, error) {
	p, err := w.e.Store.Push(ctx, w.d.id)
	if err != nil {
		return result{}, err
	}
	if err := w.open(ctx, p); err != nil {
		return result{}, err
	}
	begun := time.Now()
	for n := 0; n < turns && time.Since(begun) < slowAttempt; n++ {
		page, err := w.e.Store.DeadLetters(ctx, store.LetterQuery{Of: &w.d.id, Again: true, Limit: 1})
		if err != nil {
			return result{}, err
		}
		if len(page) == 0 {
			return result{gone: true}, nil
		}
		// The configuration may have been replaced, perhaps in another process: then the next
		// look begins with the new one.
		if is, err := w.e.Store.Push(ctx, w.d.id); err != nil || !is.Created.Equal(p.Created) {
			return result{gone: err == nil}, err
		}
		if due, err := w.letter(ctx, &page[0]); err != nil || !due.IsZero() {
			return result{due: due, since: w.d.begun}, err
		}
	}
	return result{since: w.d.begun}, nil
}

// letter makes one attempt. due is the time of the next attempt, zero if the letter is settled.
func (w *courier) letter(ctx context.Context, l *store.DeadLetter) (due time.Time, err error) {
	var en *a2a.Entry
	var ev *a2a.StreamResponse
	page, err := w.e.Store.Entries(ctx, w.d.id.Key, l.Seq-1, 1)
	if err != nil {
		return due, err
	}
	if len(page) > 0 && page[0].Seq == l.Seq {
		if en, err = w.e.Entry(ctx, &page[0]); err != nil {
			return due, err
		}
		ev = en.Event()
	}
	if ev == nil {
		return due, w.close(ctx, l, true) // there is nothing to send
	}
	var task *a2a.Task
	if w.version.WholeTask() {
		if task, err = w.e.FoldTo(ctx, w.d.id.Key, l.Seq); err != nil {
			return due, err
		}
	}
	out, _, err := w.try(ctx, en, ev, task, l.Tries+1)
	if err != nil {
		return due, err
	}
	if out.Verdict == a2a.Delivered {
		w.e.Notified(ctx, a2a.Delivered)
		return due, w.close(ctx, l, true)
	}
	w.e.Notified(ctx, a2a.DeliverAgain) // whatever the outcome: the letter is dead already
	at := w.e.Now()
	l.Tries++
	l.Time, l.Reason = at, out.Reason
	if w.d.begun.IsZero() {
		w.d.begun = at
	}
	end := w.d.begun.Add(giveUpAfter)
	switch {
	case out.Verdict == a2a.DeliverAgain && at.Before(end):
		w.d.tries++
		due = at.Add(max(out.After, w.backoff(w.d.tries)))
		if due.After(end) {
			due = end
		}
		return due, w.e.Store.SetLetters(ctx, []store.DeadLetter{*l}, false)
	case out.Verdict == a2a.DisableConfig:
		return due, w.closeAll(ctx, l)
	}
	l.Again = false
	return due, w.close(ctx, l, false)
}

// close stores a letter as a dead one or, if gone is set, deletes it.
func (w *courier) close(ctx context.Context, l *store.DeadLetter, gone bool) error {
	w.d.begun, w.d.tries = time.Time{}, 0
	return w.e.Store.SetLetters(ctx, []store.DeadLetter{*l}, gone)
}

// closeAll stores l and the letters after it as dead ones: their receiver wants no more.
func (w *courier) closeAll(ctx context.Context, l *store.DeadLetter) error {
	for page := []store.DeadLetter{*l}; len(page) > 0; {
		for i := range page {
			page[i].Again, page[i].Reason = false, l.Reason
		}
		err := w.e.Store.SetLetters(ctx, page, false)
		if err == nil {
			page, err = w.e.Store.DeadLetters(ctx, store.LetterQuery{Of: &l.PushID, Again: true, Limit: turns})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
