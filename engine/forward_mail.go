package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-a2a/parley/store"
)

// request is a request of another process.
type request struct {
	size   int64       // in bytes
	answer *memoAnswer // nil: it is under way
	at     time.Time   // of the answer
}

// Limits on requests of other processes. Memos beyond them are dropped, and their senders ask
// again.
const (
	maxBegun     = 1024     // requests at a time
	maxBegunSize = 64 << 20 // their size in bytes, if there is more than one
	maxHeard     = 4096     // answers that are remembered, for heardFor
	heardFor     = time.Minute
)

// mail handles the messages from other processes until ctx ends, and then waits for the work
// that it began.
func (e *Engine) mail(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	limit := mailFew
	for failing := false; ; {
		got, err := e.store.Mail(ctx, e.node, limit)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
				return
			}
			if !failing { // other code reports a failing store, too
				e.log.Warn("messages from other processes cannot be fetched; trying again", "error", err)
			}
		}
		failing = err != nil
		size := 0
		for i := range got {
			e.sort(ctx, got[i].Body, &all)
			size += len(got[i].Body)
		}
		more := len(got) == limit
		if limit = min(2*limit, mailBatch); size > mailMuch || !more {
			limit = mailFew
		}
		if more {
			continue
		}
		select {
		case <-e.mailHint:
		case <-time.After(mailPoll):
		case <-ctx.Done():
			return
		}
	}
}

// sort acts on one message, without waiting for anything.
func (e *Engine) sort(ctx context.Context, body []byte, all *sync.WaitGroup) {
	m, err := e.forwards.key.open(body)
	if err != nil {
		e.log.Warn("a message from another process cannot be read", "error", err)
		return
	}
	if m.Answer != nil {
		e.forwards.answered(m.ID, m.Answer)
		return
	}
	switch known, begins := e.forwards.hear(m.ID, int64(len(body))); {
	case begins:
		all.Go(func() {
			a, fate := e.serve(ctx, m)
			m.Send = nil // frees it: the task has the message, and the agent may take it much later
			e.forwards.done(m.ID, a)
			e.answer(ctx, m, a)
			if fate != nil {
				e.tell(ctx, m, a.Seq, fate)
			}
		})
	case known != nil:
		all.Go(func() { e.answer(ctx, m, known) })
	}
}

// answer sends an answer to the asking process. If that fails, that process asks again.
func (e *Engine) answer(ctx context.Context, m *memo, a *memoAnswer) {
	body, err := (&memo{ID: m.ID, Answer: a}).seal(m.From)
	if err == nil {
		err = e.store.Post(ctx, []store.Mail{{Node: m.From, Body: body}})
	}
	if err != nil && ctx.Err() == nil {
		e.log.Info("another process could not be answered; it asks again", "error", err)
	}
}

// hear registers a request. If it is new and there is room for it, it begins. If it was
// answered before, known is that answer. Otherwise nothing is to be done: the request is under
// way, or its sender has to ask again.
func (p *forwards) hear(id string, size int64) (known *memoAnswer, begins bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.heard[id]; r != nil {
		return r.answer, false
	}
	if p.begun() >= maxBegun || p.size > 0 && p.size+size > maxBegunSize {
		return nil, false
	}
	p.heard[id] = &request{size: size}
	p.size += size
	return nil, true
}

// begun returns how many requests are under way.
func (p *forwards) begun() int { return len(p.heard) - len(p.order) }

// done notes the answer to a request that was begun, and forgets old ones.
func (p *forwards) done(id string, a *memoAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.heard[id]
	r.answer, r.at = a, time.Now()
	p.size -= r.size
	p.order = append(p.order, id)
	for len(p.order) > maxHeard || r.at.Sub(p.heard[p.order[0]].at) > heardFor {
		delete(p.heard, p.order[0])
		p.order = p.order[1:]
	}
}
