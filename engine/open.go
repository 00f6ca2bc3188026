package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// birth is how a task begins.
type birth struct {
	post      *post
	contextID string
	version   a2a.Version   // see a2a.Task.Version
	taskOnly  bool          // a direct answer makes a task
	create    time.Duration // when the task comes into being at the latest
}

// begin starts a turn on a task that does not exist yet. The task comes into
// being with the first thing the agent emits, or after b.create; if the agent
// replies first, it never does. The caller goes on with attend.
func (e *Engine) begin(ctx context.Context, key store.Key, b *birth) (_ *owner, err error) {
	o := e.newOwner(key, b.contextID)
	o.ready.Give()
	done, err := o.admit(ctx, b.post)
	defer func() {
		if done(); err != nil {
			o.mem.hold.Close()
			o.ctx.end(err)
		}
	}()
	if err != nil {
		return nil, err
	}
	o.openLocked(b)

	here, err := o.askLocked(b.post, false) // nobody else knows o yet
	if err != nil {
		return nil, err
	}
	e.topics.Lock()
	if e.drained {
		o.mu.Lock()
		o.closeLocked()
		o.mu.Unlock()
		e.topics.Unlock()
		return nil, stored.Stopping()
	}
	e.owners[key] = o
	o.topic = e.topics.JoinLocked(key)
	e.work.Add(1)
	e.topics.Unlock()

	o.topic.Adopt(o, &a2a.Task{}, 0)
	o.mu.Lock()
	o.beginLocked(here)
	o.mu.Unlock()
	return o, nil
}

// openLocked makes o the owner of a task that does not exist yet.
func (o *owner) openLocked(b *birth) {
	p := b.post
	o.enterLocked(phaseStarting)
	o.contextID, o.taskOnly = b.contextID, b.taskOnly
	o.saved.row = store.Row{Key: o.key, Context: b.contextID, Epoch: 1}
	o.lease = lease{next: 1}
	o.draft.version = b.version

	// The log holds on to the one, and nobody to the other after the first append.
	said := &struct {
		created, message a2a.Entry
		body             a2a.Created
		words            a2a.Message
	}{}
	said.body = a2a.Created{TaskID: o.key.ID, ContextID: b.contextID, Version: b.version}
	said.created = a2a.Entry{Kind: a2a.EntryCreated, Created: &said.body}
	said.words = *p.message
	said.words.TaskID, said.words.ContextID = o.key.ID, b.contextID
	p.message = &said.words
	said.message = a2a.Entry{Kind: a2a.EntryMessage, Message: p.message, Received: p.from.received()}
	o.out.opening = make([]record, 2, fewRecords)
	o.out.opening[0] = o.newRecordLocked(&said.created)
	o.out.opening[0].tied = true // no task without its message
	o.out.opening[1] = o.newRecordLocked(&said.message)
	o.out.opening[1].post = p
	o.waiting = append(o.begun.waiting[:0], p)
	p.entry = &said.message
	o.turn = turnState{messages: append(o.begun.messages[:0], p)}
	o.draft.messages = 1
	o.tracing.first = textOf(&p.from.caller)
	o.loop.create = time.Now().Add(b.create)
}

// acquire returns the task's owner, which is loaded if there is none in this
// process. The caller releases it when it has acted. A finished task has an
// owner, too, for as long as somebody asks; it refuses everything.
func (e *Engine) acquire(ctx context.Context, key store.Key) (*owner, error) {
	o, _, err := e.own(ctx, key, nil)
	return o, err
}

// own is acquire for what may not exist: then, if b is not nil, the task is
// born, which the second result tells, and the caller goes on with attend. Of
// several that try, the first becomes its owner, and the others get that one.
func (e *Engine) own(ctx context.Context, key store.Key, b *birth) (_ *owner, born bool, _ error) {
	return e.ownAs(ctx, key, b, false, budget.Wait)
}

// ownAs is own, also for a task that this process has drawn. It waits so long for
// the memory that a large task takes.
func (e *Engine) ownAs(ctx context.Context, key store.Key, b *birth, drawn bool, patience time.Duration) (_ *owner, born bool, _ error) {
	e.topics.Lock()
	if e.drained {
		e.topics.Unlock()
		return nil, false, stored.Stopping()
	}
	o := e.owners[key]
	if o != nil {
		o.mu.Lock()
		o.holds++
		o.mu.Unlock()
		e.topics.Unlock()
		select {
		case <-o.ready.Wait():
		case <-ctx.Done():
			o.release()
			return nil, false, context.Cause(ctx)
		}
	} else {
		o = e.newOwner(key, "")
		o.holds = 1
		o.topic = e.topics.JoinLocked(key)
		e.owners[key] = o
		e.work.Add(1)
		e.topics.Unlock()
		// Others may wait for the same load: it must not end with this call.
		err := o.load(context.WithoutCancel(ctx), drawn, patience)
		if b != nil && errors.Is(err, a2a.ErrTaskNotFound) {
			var done func()
			if done, err = o.admit(ctx, b.post); err == nil {
				o.mu.Lock()
				var here bool
				if here, err = o.askLocked(b.post, false); err == nil {
					born = true
					o.topic.Adopt(o, &a2a.Task{}, 0)
					o.openLocked(b)
					o.beginLocked(here)
				}
				o.mu.Unlock()
			}
			done()
		}
		if err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			o.leave()
			o.ready.Give()
			if orphaning(err) {
				e.taker.again(key) // if it is this process's: a claim may have failed after it took effect
			}
			e.work.Done()
			return nil, false, err
		}
		o.ready.Give()
		if born {
			return o, true, nil
		}
		go o.run()
	}
	o.mu.Lock()
	err := o.err
	o.mu.Unlock()
	if err != nil {
		o.release()
		return nil, false, err
	}
	return o, false, nil
}

func (o *owner) release() {
	o.mu.Lock()
	o.holds--
	o.parkLocked()
	o.mu.Unlock()
	o.nudge()
}
