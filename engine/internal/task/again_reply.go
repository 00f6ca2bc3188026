package task

import (
	"bytes"
	"context"
	"errors"

	"github.com/parley-a2a/parley/store"

	"github.com/parley-a2a/parley/engine/internal/stored"
)

// A direct answer leaves no task. If its message is recognized when it is repeated, receipts
// hold the answer: the caller gets it once they are committed, and the agent does not wait.

// keep hands the answer to p to the store. Only the owner's goroutine calls it and the rest of
// this file.
func (o *Owner) keep(p *Post) {
	key, answer := o.key, p.Reply
	key.ID = ""
	o.inflight = &flight{append: store.Append{
		Row:      store.Row{Key: key, Context: o.contextID},
		Receipts: p.Identity.Receipts(o.all.Nodes.Now(), 0, answer.AppendJSON(make([]byte, 0, 256+stored.PartsSize(answer.Parts)))),
	}}
	o.all.Store.Append(&o.inflight.append, o.inbox.commit)
}

// kept tells the caller the answer.
func (o *Owner) kept() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reply.Settled.Give()
	o.reply = nil
}

// remembered is landed for an append of receipts alone, whose answer has a unique id. It
// returns ErrDuplicate if the receipts of another answer count.
func (o *Owner) remembered(ctx context.Context, a *store.Append) (bool, error) {
	for i := range a.Receipts {
		want := &a.Receipts[i]
		got, err := o.all.Store.Receipt(ctx, a.Row.Key, want.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return false, err
		case bytes.Equal(got.Answer, want.Answer):
			return true, nil // all of them are there, or none
		case got.Counts(want.Time):
			return false, store.ErrDuplicate
		}
	}
	return false, nil
}

// fresh returns those receipts of an append that no other process has stored already. The task
// exists and the message is for it, even if another process accepted one of that name
// meanwhile. So the message is accepted, at worst twice.
func (o *Owner) fresh(ctx context.Context, a *store.Append) (fresh []store.Receipt, _ error) {
	for _, r := range a.Receipts {
		got, err := o.all.Store.Receipt(ctx, a.Row.Key, r.Name)
		switch {
		case err == nil && got.Counts(r.Time):
			o.log().Info("a message was taken by another process, too", "message", r.Name)
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return nil, err
		default:
			fresh = append(fresh, r)
		}
	}
	return fresh, nil
}
