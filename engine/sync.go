package engine

import (
	"context"

	"github.com/parley-a2a/parley/agent"
)

// Sync is that of agent.Turn: it waits until what is pending now is committed.
func (h *host) Sync(ctx context.Context) error {
	o := (*owner)(h)
	o.mu.Lock()
	if o.phase != phaseClosed {
		o.createLocked()
	}
	// Nothing else can be committed between the two: an append under way is in
	// ahead until it is.
	last := o.topic.committed()
	if n := len(o.out.ahead); n > 0 {
		last = o.out.ahead[n-1].entry.Seq
	}
	last += int64(len(o.out.pending))
	o.mu.Unlock()
	return o.topic.reach(ctx, o, last)
}

// committed returns the seq of the last entry that is durable.
func (t *topic) committed() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// reach waits until the entry with this seq is durable, as long as o is the owner.
func (t *topic) reach(ctx context.Context, o *owner, seq int64) error {
	for {
		t.mu.Lock()
		if t.owner == o && t.last >= seq {
			t.mu.Unlock()
			return nil
		}
		if t.owner != o {
			t.mu.Unlock()
			return agent.ErrEnded
		}
		changed := t.changed.wait()
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
