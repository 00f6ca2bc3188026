package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Processes that share a store tell each other what they changed by its hints.
// They make things prompt and nothing else: each can be lost, and beneath each
// somebody looks from time to time.

// watch hears the store's hints until ctx ends.
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
		e.log.Warn("no hints from the store; what other processes do is noticed later until there are again", "error", err)
		e.hear(store.Hint{Lost: true})
		wake.Pause(ctx, wake.Backoff(failures, 30*time.Second))
	}
}

// hear passes a hint on to those whom it is for. It must not block.
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

// present makes sure that others know of this process before it has a task: they
// would take it. It may be asked before Run has got as far as that.
func (e *Engine) present(ctx context.Context) error {
	if err := e.nodes.Present(ctx); err != nil {
		return stored.Unwritten(stored.Failed(err, "register with the store"))
	}
	return nil
}

// Registered reports whether the store knows of this process: from shortly after
// the start of Run.
func (e *Engine) Registered() bool { return e.nodes.Registered() }
