package task

import (
	"cmp"
	"context"

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

// revived returns the configurations of a task that begins anew, after o.saved.last,
// which had nothing left to deliver. Those that were disabled stay so.
func (o *Owner) revived() []store.PushConfig {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.all.base), o.all.StoreWait)
	defer cancel()
	all, err := o.all.Store.Pushes(ctx, o.key, "", MaxPushes)
	if err != nil {
		o.log().Error("webhooks of a task that begins anew could not be read; they hear no more of it", "error", err)
		return nil
	}
	var ended []store.PushConfig
	for _, p := range all {
		if !p.Live && p.Cursor == o.saved.last {
			p.Live, p.Node = true, o.all.Node
			ended = append(ended, p)
		}
	}
	return ended
}
