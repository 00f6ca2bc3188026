package task

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/agent"
)

// Sync implements agent.Turn.Sync: it waits until all entries that are pending now are
// committed.
func (h *host) Sync(ctx context.Context) error {
	o := (*Owner)(h)
	o.mu.Lock()
	if o.phase != phaseClosed {
		o.createLocked()
	}
	// Nothing can get lost between the two: an append under way stays in ahead until it is
	// committed.
	last := o.topic.Committed()
	if n := len(o.out.ahead); n > 0 {
		last = o.out.ahead[n-1].entry.Seq
	}
	last += int64(len(o.out.pending))
	o.mu.Unlock()
	err := o.topic.Reach(ctx, o, last)
	if errors.Is(err, agent.ErrEnded) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.phase == phaseClosed && (o.err == nil || o.err == errOver) {
			return nil // the owner has left in good order, with nothing pending
		}
	}
	return err
}
