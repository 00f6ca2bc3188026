package agent

import "context"

// syncer is a Host that can say when something is durable.
type syncer interface {
	// Sync returns nil when all that was emitted and recorded before is durable.
	Sync(ctx context.Context) error
}

// Sync returns when all that the turn has said and recorded is durable: from then on no
// crash takes it back. You need it only before you tell another system that you have
// accepted something, which it then forgets; what a turn says is durable before others
// see it in any case. Sync creates the task if there is none yet. The error is the cause
// of ctx, or ErrEnded if another process has the task now.
func (t *Turn) Sync(ctx context.Context) error {
	if h, ok := t.host.(syncer); ok {
		return h.Sync(ctx)
	}
	return nil
}
