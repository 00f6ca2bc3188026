package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// birth is how a task begins.
type birth struct {
	post      *post
	contextID string
	version   string        // see a2a.Task.Version
	taskOnly  bool          // a direct answer makes a task
	create    time.Duration // when the task comes into being at the latest
}

// begin starts a turn on a task that does not exist yet. The task comes into
// being with the first thing the agent emits, or after b.create; if the agent
// replies first, it never does. The caller goes on with attend.
func (e *Engine) begin(key store.Key, b *birth) (*owner, error) {
	o := e.newOwner(key, b.contextID)
	o.ready.give()
	o.openLocked(b)

	if err := o.reserveLocked(b.post); err != nil { // nobody else knows o yet
		return nil, err
	}
	e.mu.Lock()
	if e.drained {
		e.mu.Unlock()
		o.settleLocked()
		return nil, errStopping()
	}
	e.owners[key] = o
	o.topic = e.joinLocked(key)
	e.work.Add(1)
	e.mu.Unlock()

	o.topic.adopt(o, &a2a.Task{}, 0)
	o.mu.Lock()
	o.beginLocked()
	o.mu.Unlock()
	return o, nil
}

// openLocked makes o the owner of a task that does not exist yet.
func (o *owner) openLocked(b *birth) {
	p := b.post
	o.contextID, o.taskOnly = b.contextID, b.taskOnly
	o.row = store.Row{Key: o.key, Context: b.contextID, Epoch: 1}
	o.lease = lease{next: 1}
	o.draft.version = b.version

	// The log holds on to the one, and nobody to the other after the first append.
	said := &struct {
		created, message a2a.Entry
		body             a2a.Created
		words            a2a.Message
	}{}
	o.launch = &launch{}
	said.body = a2a.Created{TaskID: o.key.ID, ContextID: b.contextID, Version: b.version}
	said.created = a2a.Entry{Kind: a2a.EntryCreated, Created: &said.body}
	said.words = *p.message
	said.words.TaskID, said.words.ContextID = o.key.ID, b.contextID
	p.message = &said.words
	said.message = a2a.Entry{Kind: a2a.EntryMessage, Message: p.message, Received: p.from.received()}
	o.opening = o.launch.opening[:2]
	o.opening[0] = o.newRecordLocked(&said.created)
	o.opening[0].tied = true // no task without its message
	o.opening[1] = o.newRecordLocked(&said.message)
	o.opening[1].post = p
	o.pending = o.launch.records[:0]
	o.waiting = append(o.posts[:0], p)
	p.entry = &said.message
	o.turn = turnState{messages: append(o.begun[:0], p)}
	o.draft.messages = 1
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
	return e.ownAs(ctx, key, b, false)
}

// ownAs is own, also for a task that this process has drawn.
func (e *Engine) ownAs(ctx context.Context, key store.Key, b *birth, drawn bool) (_ *owner, born bool, _ error) {
	e.mu.Lock()
	if e.drained {
		e.mu.Unlock()
		return nil, false, errStopping()
	}
	o := e.owners[key]
	if o != nil {
		o.mu.Lock()
		o.holds++
		o.mu.Unlock()
		e.mu.Unlock()
		select {
		case <-o.ready.wait():
		case <-ctx.Done():
			o.release()
			return nil, false, context.Cause(ctx)
		}
	} else {
		o = e.newOwner(key, "")
		o.holds = 1
		o.topic = e.joinLocked(key)
		e.owners[key] = o
		e.work.Add(1)
		e.mu.Unlock()
		// Others may wait for the same load: it must not end with this call.
		err := o.load(context.WithoutCancel(ctx), drawn)
		if b != nil && errors.Is(err, a2a.ErrTaskNotFound) {
			o.mu.Lock()
			if err = o.reserveLocked(b.post); err == nil {
				born = true
				o.topic.adopt(o, &a2a.Task{}, 0)
				o.openLocked(b)
				o.beginLocked()
			}
			o.mu.Unlock()
		}
		if err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			o.leave()
			o.ready.give()
			if orphaning(err) {
				e.taker.again(key) // if it is this process's: a claim may have failed after it took effect
			}
			e.work.Done()
			return nil, false, err
		}
		o.ready.give()
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
	o.mu.Unlock()
	o.nudge()
}
