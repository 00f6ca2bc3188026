package task

import (
	"context"
)

// Sync is that of agent.Turn: it waits until all entries that are pending now are committed.
func (h *host) Sync(ctx context.Context) error {
	o := (*Owner)(h)
	o.mu.Lock()
	if o.phase != phaseClosed {
		o.createLocked()
	}
	// Nothing else can be committed between the two: an append under way is in
	// ahead until it is.
	last := o.topic.Committed()
	if n := len(o.out.ahead); n > 0 {
		last = o.out.ahead[n-1].entry.Seq
	}
	last += int64(len(o.out.pending))
	o.mu.Unlock()
	return o.topic.Reach(ctx, o, last)
}
