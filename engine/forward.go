package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// A task has one writer. A call for a task at work in another process is forwarded: as a memo
// in that process's mailbox, and the outcome comes back as another memo. From there on the
// caller waits as for a task of this process. Memos may be lost, and the task may move to
// another process meanwhile. So the asking process checks the task's row repeatedly, and each
// try has the same identity, by which the log shows whether the message was accepted already.

// forwards are the requests under way from this process to others, and from others to this one.
type forwards struct {
	key nodeKey

	mu    sync.Mutex // protects the fields below
	asked map[string]chan *memoAnswer

	heard map[string]*request // requests of others, which may be repeated
	size  int64               // of those under way, in bytes
	order []string            // those that were answered, oldest answer first
}

// How long to wait and how much to fetch until an answer comes.
const (
	lookAgain = time.Second     // look at the row
	askAgain  = 2 * lookAgain   // ask the same process, at first; then after twice as long each time
	mailPoll  = time.Second     // look for messages whose hint was lost
	mailBatch = 32              // messages that are taken out of the mailbox at a time, at most
	mailFew   = 4               // the same if messages are large
	mailMuch  = 1 << 20         // size of a batch, in bytes, beyond which the next one has mailFew
	maxMoves  = 5 * time.Second // the longest pause between two looks for a task's owner
)

// errMoved says that the process that was asked no longer has the task.
var errMoved = errors.New("engine: another process has the task by now")

// moved reports whether a call had no effect because another process has the task and must
// handle it.
func (e *Engine) moved(err error) bool {
	return errors.Is(err, task.ErrDrawn) || e.nodes.Moved(err)
}

// holderIn returns the process that has the task according to an error, or nil.
func holderIn(err error) *task.Elsewhere {
	if by, ok := errors.AsType[*task.Elsewhere](err); ok && by.Node != "" {
		return by
	}
	return nil
}

// forward asks the process that has a task, until it answers or ctx ends. errMoved means that
// the caller has to look up which process has the task and whether the request took effect, and
// go on from there. If later is not nil, an answer is still to come, and the caller must call
// its forget in the end.
func (e *Engine) forward(ctx context.Context, key store.Key, by *task.Elsewhere, m *memo) (_ *memoAnswer, later *verdict, _ error) {
	m.ID, m.From = stored.NewID(), e.node
	body, err := m.seal(by.Node)
	switch {
	case errors.Is(err, errTooMuch):
		return nil, nil, a2a.Errorf(a2a.CodeTooLarge, "this is too large for a task that another process of this server works at")
	case errors.Is(err, errNoMailbox):
		return nil, nil, task.NotHere(nil)
	case err != nil:
		return nil, nil, stored.Failed(err, "forward a request for task "+key.ID)
	}
	answers := e.forwards.ask(m.ID)
	defer func() {
		if later == nil {
			e.forwards.forget(m.ID)
		}
	}()
	if hold, n := budget.From(ctx), 2*int64(len(body)); n > hold.Held() { // the request, and the copy that is posted
		hold.Set(n)
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	asked, since := time.Time{}, time.Now() // since: when the store worked last
	for next := askAgain; ; {
		if at := time.Now(); asked.IsZero() || at.Sub(asked) >= next {
			if err = e.store.Post(ctx, []store.Mail{{Node: by.Node, Body: body}}); err == nil {
				if !asked.IsZero() {
					next *= 2 // a slow process must not find a mailbox full of copies
				}
				asked = at
			}
		}
		select {
		case a := <-answers:
			switch {
			case a.Moved:
				return nil, nil, errMoved
			case a.Later:
				return a, &verdict{m.ID, answers}, nil
			}
			return a, nil, nil
		case <-look.C:
		case <-e.draining:
			return nil, nil, stored.Stopping()
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		if err == nil {
			err = e.stays(ctx, key, by)
		}
		switch {
		case err == nil:
			since = time.Now()
		case err == errMoved:
			return nil, nil, err
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case errors.Is(err, store.ErrClosed):
			return nil, nil, stored.Stopping()
		case time.Since(since) > e.opts.StoreWait:
			return nil, nil, stored.Unwritten(stored.Failed(err, "forward a request for task "+key.ID))
		}
		err = nil // and try again
	}
}

// stays returns errMoved if the process that was asked no longer has the task, or is dead: then
// this process may have it.
func (e *Engine) stays(ctx context.Context, key store.Key, by *task.Elsewhere) error {
	o, err := e.owners.Acquire(ctx, key)
	if err == nil {
		o.Release()
		return errMoved
	}
	if now := holderIn(err); now != nil && *now == *by {
		return nil
	}
	if e.moved(err) || errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, a2a.ErrRateLimited) {
		return errMoved // the caller's next look-up meets the same error
	}
	return err
}

// again waits before the n-th look for a task's owner, except before the first two: the task
// may change hands several times in a row, and a process that ends may keep it for a while.
func (e *Engine) again(ctx context.Context, n int) error {
	if n < 2 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(min(10*time.Millisecond<<min(n-2, 16), maxMoves)):
		return nil
	case <-e.draining:
		return stored.Stopping()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask registers a request whose answer is waited for.
func (p *forwards) ask(id string) <-chan *memoAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := make(chan *memoAnswer, 2)
	p.asked[id] = c
	return c
}

func (p *forwards) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, id)
}

// answered hands an answer to the call that waits for it, if there is one.
func (p *forwards) answered(id string, a *memoAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.asked[id]; c != nil && !(a.Later && len(c) > 0) { // the verdict needs the room
		select {
		case c <- a:
		default: // a copy too many
		}
	}
}
