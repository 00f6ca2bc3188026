package engine

import (
	"context"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// sends are the sends under way whose messages would be known if they came
// again: until a message is committed there is no receipt of it.
type sends struct {
	mu sync.Mutex // protects the field below
	m  map[sendName]*sending
}

type sendName struct {
	scope store.Key // a Key without ID
	name  string
}

// sending is one send under way, from before its look-up until it is certain
// what came of it, even if its caller leaves before.
type sending struct {
	*again.Identity
	done chan struct{} // closed when all is certain; then the fields below are constant

	post *task.Post // what was posted last; nil if nothing was
	key  store.Key
}

// enter registers a send. If one of the same name is under way it returns that
// one, and false.
func (s *sends) enter(id *again.Identity) (*sending, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range id.Names {
		if other := s.m[sendName{id.Scope, name}]; other != nil {
			return other, false
		}
	}
	own := &sending{Identity: id, done: make(chan struct{})}
	for _, name := range id.Names {
		s.m[sendName{id.Scope, name}] = own
	}
	return own, true
}

// leave ends a registration.
func (s *sends) leave(own *sending) {
	s.mu.Lock()
	for _, name := range own.Names {
		delete(s.m, sendName{own.Scope, name})
	}
	s.mu.Unlock()
	close(own.done)
}

// deliverAs is deliver for a message that is known when it comes again.
func (e *Engine) deliverAs(ctx context.Context, a *access, req *a2a.SendMessageRequest, id *again.Identity, s sender) (accepted, error) {
	for {
		own, first := e.sends.enter(id)
		if first {
			return e.deliverFirst(ctx, a, req, own, s)
		}
		select {
		case <-own.done:
		case <-ctx.Done():
			return accepted{}, context.Cause(ctx)
		}
		// If it failed nothing came of it, or nobody knows: this one goes on by
		// itself, and finds in the store what there is.
		if p := own.post; p != nil && p.Err == nil {
			if err := id.SameAs(own.Identity); err != nil {
				return accepted{}, err
			}
			if p.Reply != nil {
				return e.answered(p.Reply, req, s.stream)
			}
			return accepted{post: p, topic: e.topics.Join(own.key), seq: p.Seq, again: true}, nil
		}
	}
}

// deliverFirst delivers a message of which no other send is under way.
func (e *Engine) deliverFirst(ctx context.Context, a *access, req *a2a.SendMessageRequest, own *sending, s sender) (accepted, error) {
	defer e.settle(own)
	for n := 0; ; n++ {
		d, found, err := e.find(ctx, req, own.Identity, s.stream)
		switch {
		case found || err != nil:
			return d, err
		case s.stream && req.After != 0 && e.opts.Retries.known(a.caller):
			return accepted{}, a2a.Invalid("Last-Event-ID",
				"there is no earlier stream of this message to go on with; leave it out, or subscribe to the task")
		}
		d, err = e.deliverNew(ctx, a, req, own, s)
		switch {
		case beaten(err, req):
			continue
		case err != nil && !e.moved(err) && req.Message.TaskID != "":
			// Perhaps it is refused for what it did itself: another process took it
			// behind the look-up, and the task has ended since, or goes on.
			if known, found, lookErr := e.find(ctx, req, own.Identity, s.stream); found && lookErr == nil {
				return known, nil
			}
			return d, err
		case !e.moved(err) || s.here:
			return d, err
		}
		own.post = nil // nothing came of it here
		if len(own.Names) == 0 {
			own.Identity = e.forwardName(a, req)
		}
		if d, err = e.forwardSend(ctx, a, req, own.Identity, s.stream, err); err != errMoved {
			return d, err
		}
		if err := e.again(ctx, n); err != nil {
			return accepted{}, err
		}
	}
}

// settle ends a registration when it is certain what came of the message. If
// the caller left before, that is later than now: whoever sends the same then
// must not begin anew.
func (e *Engine) settle(own *sending) {
	if p := own.post; p != nil && !p.Settled.Was() {
		if e.onceSettled(p, func() { e.sends.leave(own) }) {
			return
		}
		own.post = nil // sends that wait are told so
	}
	e.sends.leave(own)
}

// onceSettled calls f when it is certain what came of a message. It reports false, and
// does not call f, if the engine is about to stop.
func (e *Engine) onceSettled(p *task.Post, f func()) bool {
	return e.begin(func() {
		<-p.Settled.Wait() // at the latest when its owner leaves
		f()
	})
}
