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

// pushOf returns the configuration that came with a message, for the append that
// has it. Clients of versions without ids find it by the task's.
func (o *Owner) pushOf(with *Post) store.PushConfig {
	p := *with.Push
	p.Key, p.Cursor = o.key, with.Entry.Seq
	p.ID = cmp.Or(p.ID, o.key.ID)
	return p
}

// revived returns the configurations of a task that begins anew after an end, which had
// nothing left to deliver. Those that were disabled stay so.
func (o *Owner) revived(end int64) []store.PushConfig {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.all.base), o.all.StoreWait)
	defer cancel()
	all, err := o.all.Store.Pushes(ctx, o.key, "", MaxPushes)
	for wait := 10 * time.Millisecond; err != nil; wait = min(2*wait, time.Second) {
		if errors.Is(err, store.ErrClosed) || wake.Pause(ctx, wait) != nil {
			o.log().Error("webhooks of a task that begins anew could not be read; they hear no more of it", "error", err)
			return nil
		}
		all, err = o.all.Store.Pushes(ctx, o.key, "", MaxPushes)
	}
	var ended []store.PushConfig
	for _, p := range all {
		if !p.Live && p.Cursor == end {
			p.Live, p.Node = true, o.all.Node
			ended = append(ended, p)
		}
	}
	return ended
}

// reviveLate revives those whose last delivery was noted between the look of revived and
// the append. Clients may replace or delete them meanwhile, so it is an Advance. Those
// that came with the append may have been disabled since.
func (o *Owner) reviveLate(a *store.Append) {
	var all []store.Advance
	for _, p := range o.revived(a.After) {
		if !slices.ContainsFunc(a.Pushes, func(with store.PushConfig) bool { return with.ID == p.ID }) {
			all = append(all, store.Advance{PushID: p.PushID(), Created: p.Created, Progress: p.Progress, Live: true})
		}
	}
	if len(all) == 0 {
		return
	}
	if err := o.all.Store.Advance(context.WithoutCancel(o.all.base), all); err != nil {
		o.log().Error("webhooks of a task that begins anew could not be stored; they hear no more of it", "error", err)
	}
	o.all.Outbox.LookSoon()
}
