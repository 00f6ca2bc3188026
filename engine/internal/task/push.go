package task

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// MaxPushes is how many push configurations a task may have.
const MaxPushes = 100

// pushOf returns the configuration that came with a message, for the message's append. Its id
// defaults to the task's, by which clients of versions without ids find it.
func (o *Owner) pushOf(with *Post) store.PushConfig {
	p := *with.Push
	p.Key, p.Cursor = o.key, with.Entry.Seq
	p.ID = cmp.Or(p.ID, o.key.ID)
	return p
}

// revivePushes turns the push configurations of a reopened task on again if they had delivered
// all up to its end; those that were disabled stay so. Clients may delete or replace
// configurations meanwhile, so this is not part of the append. It is called before the append,
// and once more after it, for those whose last delivery was noted in between. It returns those
// that it turned on. was is what the first call returned: if the reason of one has changed
// since, the first delivery of the new turn disabled it.
func (o *Owner) revivePushes(end int64, was []store.PushConfig) []store.PushConfig {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.all.base), o.all.StoreWait)
	defer cancel()
	on, err := o.tryRevivePushes(ctx, end, was)
	for wait := 10 * time.Millisecond; err != nil; wait = min(2*wait, time.Second) {
		if errors.Is(err, store.ErrClosed) || wake.Pause(ctx, wait) != nil {
			o.log().Error("webhooks of a task that starts over could not be stored; they get no more of its events", "error", err)
			break
		}
		on, err = o.tryRevivePushes(ctx, end, was)
	}
	return on
}

func (o *Owner) tryRevivePushes(ctx context.Context, end int64, was []store.PushConfig) ([]store.PushConfig, error) {
	all, err := o.all.Store.Pushes(ctx, o.key, "", MaxPushes)
	var on []store.Advance
	all = slices.DeleteFunc(all, func(p store.PushConfig) bool {
		return p.Live || p.Cursor != end || slices.ContainsFunc(was, func(w store.PushConfig) bool {
			return w.ID == p.ID && w.Created.Equal(p.Created) && w.Reason != p.Reason
		})
	})
	for i := range all {
		p := &all[i]
		p.Live = true
		on = append(on, store.Advance{PushID: p.PushID(), Created: p.Created, Progress: p.Progress, Live: true})
	}
	if err != nil || len(on) == 0 {
		return nil, err
	}
	err = o.all.Store.Advance(ctx, on)
	for i := range all {
		o.all.Outbox.Watch(&all[i], end)
	}
	o.all.Outbox.LookSoon() // another process may have had the configurations
	return all, err
}
