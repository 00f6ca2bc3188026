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

// A task has one writer. A call for a task at work in another process is
// forwarded: as a memo in that process's box, and another one back with the
// outcome. From there on the caller waits as he does for a task of this process.
// Mail may be lost, and who works at a task may change meanwhile: so the one who
// asks looks at the task's row again and again, and each try has the same
// identity, by which the log knows what was taken already.

// forwards are the requests under way from this process to others, and those of
// others to this one.
type forwards struct {
	key nodeKey

	mu    sync.Mutex // protects the fields below
	asked map[string]chan *memoAnswer
	begun map[string]bool // requests of others that are under way
	size  int64           // of those, in bytes
	heard map[string]heard
	order []string // of heard, oldest first
}

// Until somebody answers.
const (
	lookAgain = time.Second     // at the row
	askAgain  = 2 * lookAgain   // the same process, at first; then after twice as long each time
	mailPoll  = time.Second     // for mail that no hint came of
	mailBatch = 32              // pieces that are taken out of the box at a time, at the most
	mailFew   = 4               // the same where pieces are large
	mailMuch  = 1 << 20         // how large a batch is, in bytes, where the next one has mailFew
	maxMoves  = 5 * time.Second // the longest pause between two looks for a task's owner
)

// errMoved says that the process that was asked has the task no more.
var errMoved = errors.New("engine: another process has the task by now")

// moved reports whether a call came to nothing because another process has the
// task, so that it is for that one.
func (e *Engine) moved(err error) bool {
	return errors.Is(err, task.ErrDrawn) || e.nodes.Moved(err)
}

// holderIn returns who has the task according to an error, or nil.
func holderIn(err error) *task.Elsewhere {
	if by, ok := errors.AsType[*task.Elsewhere](err); ok && by.Node != "" {
		return by
	}
	return nil
}

// forward asks the process that has a task, until it answers or ctx ends. errMoved
// means that the caller has to look who has the task, and what came of the
// request, and to go on from there. If there is an answer to come later the caller
// forgets it.
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
	if hold, n := budget.From(ctx), 2*int64(len(body)); n > hold.Held() { // the request, and what is posted of it
		hold.Set(n)
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	asked, since := time.Time{}, time.Now() // since: the store works
	for next := askAgain; ; {
		if at := time.Now(); asked.IsZero() || at.Sub(asked) >= next {
			if err = e.store.Post(ctx, []store.Mail{{Node: by.Node, Body: body}}); err == nil {
				if !asked.IsZero() {
					next *= 2 // a process that is slow must not find a box full of copies
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

// stays returns errMoved if the process that was asked does not have the task any
// more, or is dead: then this one may have it.
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
		return errMoved // who looks next meets the same
	}
	return err
}

// again waits before the n-th look for a task's owner, except for the first ones:
// the task may change hands several times in a row, and a process that ends may
// keep it for a while.
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

// ask notes a request whose answer is waited for.
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
		default: // it came more often than it matters
		}
	}
}
