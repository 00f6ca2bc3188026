package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Processes that share a store tell each other what they changed by its hints.
// They make things prompt and nothing else: each can be lost, and beneath each
// somebody looks from time to time.

// watch hears the store's hints until ctx ends, if the store is shared.
func (e *Engine) watch(ctx context.Context) {
	if e.opts.deadAfter() <= 0 {
		return // nobody else changes anything
	}
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
		pause(ctx, backoff(failures, 30*time.Second))
	}
}

// hear passes a hint on to those whom it is for. It must not block.
func (e *Engine) hear(h store.Hint) {
	if h.Task != 0 || h.Lost {
		e.hearOf(h.Task, h.Lost)
	}
	if h.Node == e.node || h.Lost {
		nudge(e.mailHint)
	}
	if h.Work || h.Lost {
		e.taker.others()
		e.outbox.lookSoon()
	}
}

// hearOf wakes the readers of a task whose log has grown, or all.
func (e *Engine) hearOf(hash uint64, all bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, t := range e.topics {
		if all || k.Hash() == hash {
			t.mu.Lock()
			t.wakeLocked()
			t.mu.Unlock()
		}
	}
}
