package agent

import "context"

// syncer is a Host that can wait until emissions are durable.
type syncer interface {
	// Sync returns nil when everything emitted and recorded before is durable.
	Sync(ctx context.Context) error
}

// Sync returns when everything that the turn has emitted and recorded is durable, so
// that no crash can undo it. You need it only before you tell another system that you
// have accepted something, which that system then forgets; emissions are always durable
// before others see them. Sync creates the task if there is none yet. The error is the
// cause of ctx, or ErrEnded if another process has the task now.
func (t *Turn) Sync(ctx context.Context) error {
	if h, ok := t.host.(syncer); ok {
		return h.Sync(ctx)
	}
	return nil
}
