package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Processes that share a store tell each other of changes by its hints. Hints only make changes
// visible sooner. Any of them can be lost, so every receiver also polls.

// watch receives the store's hints until ctx ends.
func (e *Engine) watch(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		begun := time.Now()
		err := e.store.Watch(ctx, e.hear)
		if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
			return
		}
		if time.Since(begun) > time.Minute {
			failures = 0
		}
		e.log.Warn("no hints from the store; until they are back, changes by other processes are noticed later", "error", err)
		e.hear(store.Hint{Lost: true})
		wake.Pause(ctx, wake.Backoff(failures, 30*time.Second))
	}
}

// hear passes a hint on to its receivers. It must not block.
func (e *Engine) hear(h store.Hint) {
	e.meters.heard(h)
	if h.Task != 0 || h.Lost {
		e.peers.HearOf(h.Task, h.Lost)
		e.outbox.Hear(h.Task, e.owners.Owned)
	}
	if h.Node == e.node || h.Lost {
		wake.Nudge(e.mailHint)
	}
	if h.Work || h.Lost {
		e.owners.Others()
		e.outbox.ClaimSoon()
	}
	if h.Lost {
		e.outbox.LookSoon()
	}
}

// present makes sure that the store knows of this process before it has a task, because other
// processes would take that task over. It may be called before Run has registered the process.
func (e *Engine) present(ctx context.Context) error {
	if err := e.nodes.Present(ctx); err != nil {
		return stored.Unwritten(stored.Failed(err, "register with the store"))
	}
	return nil
}

// Registered reports whether the store knows of this process, as it does from shortly after the
// start of Run.
func (e *Engine) Registered() bool { return e.nodes.Registered() }
