package engine

import (
	"context"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// sends are the sends under way whose messages can be recognized if repeated: a message has no
// receipt until it is committed.
type sends struct {
	mu sync.Mutex // protects the field below
	m  map[sendName]*sending
}

type sendName struct {
	scope store.Key // a Key without ID
	name  string
}

// sending is one send under way, from before its look-up until its outcome is certain, even if
// its caller leaves earlier.
type sending struct {
	*again.Identity
	done chan struct{} // closed when the outcome is certain; then the fields below are constant

	post *task.Post // the message as posted last; nil if nothing was posted
	key  store.Key
}

// enter registers a send. If another one of the same name is under way, enter returns that one
// and false.
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

// deliverAs is deliver for a message that is recognized when it is repeated.
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
		// If the other send failed, it had no effect or its effect is unknown: this send goes
		// on by itself, and looks up the outcome in the store.
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
			// Perhaps the message is refused because of its own effect: another process
			// accepted it after the look-up, and the task has ended since, or goes on.
			if known, found, lookErr := e.find(ctx, req, own.Identity, s.stream); found && lookErr == nil {
				return known, nil
			}
			return d, err
		case !e.moved(err) || s.here:
			return d, err
		}
		own.post = nil // it had no effect here
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

// settle ends a registration when the outcome of the message is certain. If the caller left
// before, that is later than now: a repeated send must not begin anew until then.
func (e *Engine) settle(own *sending) {
	if p := own.post; p != nil && !p.Settled.Was() {
		if e.onceSettled(p, func() { e.sends.leave(own) }) {
			return
		}
		own.post = nil // tells the sends that wait that the outcome is unknown
	}
	e.sends.leave(own)
}

// onceSettled calls f when the outcome of a message is certain. It returns false, and does not
// call f, if the engine is about to stop.
func (e *Engine) onceSettled(p *task.Post, f func()) bool {
	return e.begin(func() {
		<-p.Settled.Wait() // at the latest when its owner leaves
		f()
	})
}
