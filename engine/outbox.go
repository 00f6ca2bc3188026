package engine

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/engine/internal/outbox"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// lettersTerm is how long a process has the duty of sending dead letters again.
// It renews the duty once a minute.
const lettersTerm = 3 * time.Minute

func (e *Engine) newOutbox() *outbox.Outbox {
	e.letters = e.nodes.Duty("webhook letters", lettersTerm)
	return outbox.New(&outbox.Engine{
		Store:     e.store,
		Node:      e.node,
		DeadAfter: e.opts.DeadAfter,
		Notifier:  e.opts.Push,
		Log:       e.log,
		Tracer:    e.tracer,
		Memory:    e.opts.Memory.Part(4),
		Now:       e.nodes.Now,
		Caller:    task.ScopeOf,
		Entry:     e.read.Entry,
		FoldTo:    e.read.FoldTo,
		MakeRoom:  e.read.MakeRoomFor,
		Claim: func(ctx context.Context, limit int) (int, error) {
			if e.nodes.Lapsed() { // after a pause of this process others may only seem to be dead
				return 0, nil
			}
			return e.store.ClaimPushes(ctx, e.node, e.nodes.DeadBefore(), limit)
		},
		SendsLetters: e.letters.Serves,
		Wrote:        e.wrote,
		Notified:     e.meters.notified,
		Advanced: func(all []store.Advance) {
			if e.observer != nil {
				e.observer.Advanced(all)
			}
		},
	})
}
