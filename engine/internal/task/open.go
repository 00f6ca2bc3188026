package task

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// Birth describes a task that is about to begin.
type Birth struct {
	Post      *Post
	ContextID string
	Version   a2a.Version   // see a2a.Task.Version
	TaskOnly  bool          // a direct answer makes a task, too
	Create    time.Duration // how soon the task comes into being at the latest
}

// Begin starts a turn on a task that does not exist yet. The task comes into being with the
// first thing the agent emits, or after b.Create; if the agent replies first, it never does.
// The caller must call Attend next.
func (os *Owners) Begin(ctx context.Context, key store.Key, b *Birth) (_ *Owner, err error) {
	o := os.newOwner(key, b.ContextID)
	o.ready.Give()
	done, err := o.admit(ctx, b.Post)
	defer func() {
		if done(); err != nil {
			o.mem.hold.Close()
			o.ctx.end(err)
		}
	}()
	if err != nil {
		return nil, err
	}
	here, err := o.askLocked(b.Post, false) // without the lock, because nothing else knows o yet
	if err != nil {
		return nil, err
	}
	o.openLocked(b) // in its phase the task counts as at work
	os.Topics.Lock()
	if os.drained {
		o.mu.Lock()
		o.closeLocked()
		o.mu.Unlock()
		os.Topics.Unlock()
		return nil, stored.Stopping()
	}
	os.m[key] = o
	o.topic = os.Topics.JoinLocked(key)
	os.work.Add(1)
	os.Topics.Unlock()

	o.topic.Adopt(o, &a2a.Task{}, 0)
	o.mu.Lock()
	o.beginLocked(here)
	o.mu.Unlock()
	return o, nil
}

// openLocked makes o the owner of a task that does not exist yet.
func (o *Owner) openLocked(b *Birth) {
	p := b.Post
	o.enterLocked(phaseStarting)
	o.contextID, o.out.always = b.ContextID, b.TaskOnly
	o.saved.row = store.Row{Key: o.key, Context: b.ContextID, Epoch: 1}
	o.lease = lease{next: 1}
	o.draft.version = b.Version

	// One allocation: the topic keeps the message, and nothing needs the rest after the first
	// append.
	said := &struct {
		created, message a2a.Entry
		body             a2a.Created
		words            a2a.Message
	}{}
	said.body = a2a.Created{TaskID: o.key.ID, ContextID: b.ContextID, Version: b.Version}
	said.created = a2a.Entry{Kind: a2a.EntryCreated, Created: &said.body}
	said.words = *p.Message
	said.words.TaskID, said.words.ContextID = o.key.ID, b.ContextID
	p.Message = &said.words
	said.message = a2a.Entry{Kind: a2a.EntryMessage, Message: p.Message, Received: o.received(&p.From)}
	o.out.opening = make([]record, 2, fewRecords)
	o.out.opening[0] = o.newRecordLocked(&said.created)
	o.out.opening[0].tied = true // no task without its message
	o.out.opening[1] = o.newRecordLocked(&said.message)
	o.out.opening[1].post = p
	p.Entry = &said.message
	o.turn = turnState{messages: append(o.begun[:0], p)}
	o.draft.messages = 1
	o.tracing.first = textOf(&p.From.Caller)
	o.loop.create = time.Now().Add(b.Create)
}

// Acquire returns the task's owner, and loads the task if this process has no owner of it. The
// caller calls Release when it has acted. A finished task has an owner, too, until its callers
// have released it; that owner refuses everything.
func (os *Owners) Acquire(ctx context.Context, key store.Key) (*Owner, error) {
	o, _, err := os.Own(ctx, key, nil)
	return o, err
}

// Own is Acquire for a task that may not exist. If it does not and b is not nil, the task is
// created, born is true, and the caller must call Attend next. If several callers try, the
// first one creates the task, and the others get its owner.
func (os *Owners) Own(ctx context.Context, key store.Key, b *Birth) (_ *Owner, born bool, _ error) {
	return os.ownAs(ctx, key, b, false, budget.Wait)
}

// ownAs is Own, also for a task that this process has drawn. A large task waits for memory for
// up to patience.
func (os *Owners) ownAs(ctx context.Context, key store.Key, b *Birth, drawn bool, patience time.Duration) (_ *Owner, born bool, _ error) {
	os.Topics.Lock()
	if os.drained {
		os.Topics.Unlock()
		return nil, false, stored.Stopping()
	}
	o := os.m[key]
	if o != nil {
		o.mu.Lock()
		o.holds++
		o.mu.Unlock()
		os.Topics.Unlock()
		select {
		case <-o.ready.Wait():
		case <-ctx.Done():
			o.Release()
			return nil, false, context.Cause(ctx)
		}
	} else {
		o = os.newOwner(key, "")
		o.holds = 1
		o.topic = os.Topics.JoinLocked(key)
		os.m[key] = o
		os.work.Add(1)
		os.Topics.Unlock()
		// Other callers may wait for the same load, so it must not end with this call.
		err := o.load(context.WithoutCancel(ctx), drawn, patience)
		others := err
		if b != nil && errors.Is(err, a2a.ErrTaskNotFound) {
			others = errBegun() // whatever happens to this message, they look again
			var done func()
			if done, err = o.admit(ctx, b.Post); err == nil {
				o.mu.Lock()
				var here bool
				if here, err = o.askLocked(b.Post, false); err == nil {
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
			o.err = others
			o.mu.Unlock()
			o.leave()
			o.ready.Give()
			if orphaning(err) {
				os.taker.again(key) // if the task is this process's: a claim may have failed after it took effect
			}
			os.work.Done()
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
		o.Release()
		return nil, false, err
	}
	return o, false, nil
}

// Release ends what Acquire or Own began.
func (o *Owner) Release() {
	o.mu.Lock()
	o.holds--
	o.parkLocked()
	o.mu.Unlock()
	o.nudge()
}

// Posted returns the message whose receipt has seq, if it is in the current turn of a task that
// is at work here: it knows whether the agent takes it in this turn. Otherwise Posted returns
// nil.
func (os *Owners) Posted(key store.Key, seq int64) *Post {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	o := os.m[key]
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var found *Post
	for _, p := range o.turn.messages {
		// The entry of the receipt may be the status that came with the message.
		if s := p.Entry.Seq; s > 0 && s <= seq && s >= seq-1 {
			found = p
		}
	}
	return found
}
