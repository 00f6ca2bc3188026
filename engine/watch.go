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

// peers are the topics by which an engine hears what others do. Protected by Engine.mu,
// but for doubted.
type peers struct {
	topics  map[uint64]*topic // by hash
	doubts  []*topic          // whose owner may have lost its task
	doubted chan struct{}     // capacity one: there are doubts
}

func newPeers() *peers { return &peers{topics: map[uint64]*topic{}, doubted: make(chan struct{}, 1)} }

// joined lets hints reach a topic that has just begun. Without peers there are none.
func (p *peers) joined(t *topic) {
	if p == nil {
		return
	}
	hash := t.key.Hash()
	t.remote = &remote{hash: hash, twin: p.topics[hash], stale: true} // nothing of it was read
	p.topics[hash] = t
}

// left forgets a topic.
func (p *peers) left(t *topic) {
	if p == nil {
		return
	}
	r := t.remote
	first := p.topics[r.hash]
	switch {
	case first != t:
		for first.remote.twin != t {
			first = first.remote.twin
		}
		first.remote.twin = r.twin
	case r.twin == nil:
		delete(p.topics, r.hash)
	default:
		p.topics[r.hash] = r.twin
	}
}

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
		pause(ctx, backoff(failures, 30*time.Second))
	}
}

// hear passes a hint on to those whom it is for. It must not block.
func (e *Engine) hear(h store.Hint) {
	if h.Task != 0 || h.Lost {
		e.hearOf(h.Task, h.Lost)
		e.outbox.Hear(h.Task, e.owned)
	}
	if h.Node == e.node || h.Lost {
		nudge(e.mailHint)
	}
	if h.Work || h.Lost {
		e.taker.others()
		e.outbox.ClaimSoon()
	}
	if h.Lost {
		e.outbox.LookSoon()
	}
}

// hearOf wakes the readers of a task whose log has grown, or all.
func (e *Engine) hearOf(hash uint64, all bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if all {
		for _, t := range e.topics {
			e.hearOfLocked(t)
		}
		return
	}
	for t := e.peers.topics[hash]; t != nil; t = t.remote.twin {
		e.hearOfLocked(t)
	}
}

// hearOfLocked is told of the owners here, too, unless the store leaves that out.
func (e *Engine) hearOfLocked(t *topic) {
	remote := t.remoteLocked()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !remote:
	case t.task == nil:
		t.staleLocked()
	case len(e.peers.doubts) < rowsAtOnce: // otherwise the next poll finds it
		e.peers.doubts = append(e.peers.doubts, t)
		nudge(e.peers.doubted)
	}
}
