package engine

import (
	"context"
	"errors"
	"fmt"
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
// replies first, it never does.
func (e *Engine) begin(key store.Key, b *birth) (*owner, error) {
	o := e.newOwner(key, b.contextID)
	close(o.ready)
	o.openLocked(b)

	e.mu.Lock()
	if e.drained {
		e.mu.Unlock()
		return nil, errStopping()
	}
	e.owners[key] = o
	o.topic = e.joinLocked(key)
	e.work.Add(1)
	e.mu.Unlock()

	o.topic.adopt(o, &a2a.Task{}, 0)
	o.mu.Lock()
	o.startLocked()
	o.mu.Unlock()
	go o.run(b.create)
	return o, nil
}

// openLocked makes o the owner of a task that does not exist yet.
func (o *owner) openLocked(b *birth) {
	p := b.post
	o.contextID, o.taskOnly = b.contextID, b.taskOnly
	o.row = store.Row{Key: o.key, Context: b.contextID, Epoch: 1}
	o.draft.version = b.version

	m := *p.message
	m.TaskID, m.ContextID = o.key.ID, b.contextID
	p.message = &m
	opened := o.newRecordLocked(&a2a.Entry{Kind: a2a.EntryCreated, Created: &a2a.Created{
		TaskID: o.key.ID, ContextID: b.contextID, Version: b.version,
	}})
	said := o.newRecordLocked(&a2a.Entry{Kind: a2a.EntryMessage, Message: p.message, Received: p.from.received()})
	said.post = p
	opened.tied = true // no task without its message
	o.opening = []*record{opened, said}
	o.waiting[p] = true
	p.entry = said.entry
	o.turn = turnState{messages: []*post{p}}
}

// acquire returns the task's owner, which is loaded if there is none in this
// process. The caller releases it when it has acted. A finished task has an
// owner, too, for as long as somebody asks; it refuses everything.
//
// It waits for the claim at the start: that gives every task it finds a higher
// epoch, and would fence an owner that was quicker.
func (e *Engine) acquire(ctx context.Context, key store.Key) (*owner, error) {
	select {
	case <-e.claimed:
	case <-e.draining:
		return nil, errStopping()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	o, _, err := e.own(ctx, key, nil)
	return o, err
}

// own is acquire without that wait. If the task does not exist and b is not
// nil the task is born, which the second result tells: of several that try,
// the first becomes its owner, and the others get that one.
func (e *Engine) own(ctx context.Context, key store.Key, b *birth) (_ *owner, born bool, _ error) {
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
		case <-o.ready:
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
		err := o.load(context.WithoutCancel(ctx))
		var create time.Duration
		if b != nil && errors.Is(err, a2a.ErrTaskNotFound) {
			err, born, create = nil, true, b.create
			o.topic.adopt(o, &a2a.Task{}, 0)
			o.mu.Lock()
			o.openLocked(b)
			o.startLocked()
			o.mu.Unlock()
		}
		if err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			o.leave()
			close(o.ready)
			e.work.Done()
			return nil, false, err
		}
		close(o.ready)
		go o.run(create)
	}
	o.mu.Lock()
	err := o.err
	o.mu.Unlock()
	if err != nil {
		o.release()
		return nil, false, err
	}
	return o, born, nil
}

func (o *owner) release() {
	o.mu.Lock()
	o.holds--
	o.mu.Unlock()
	o.nudge()
}

// load folds the log of a stored task and makes o its owner, with a higher
// epoch from the first append on. If the task wants a process, the agent runs
// again from the top of its turn.
func (o *owner) load(ctx context.Context) error {
	rec, err := o.e.store.Get(ctx, o.key, false)
	if errors.Is(err, store.ErrNotFound) {
		return errNotFound(o.key.ID)
	}
	if err != nil {
		return failed(err, "load task "+o.key.ID)
	}
	entries, err := o.e.entries(ctx, o.key, 0, rec.Last)
	if err == nil && int64(len(entries)) < rec.Last {
		err = errIncomplete
	}
	if err != nil {
		return o.e.unread(ctx, err, o.key)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.contextID = rec.Context
	o.stored, o.epoch, o.row = rec.Last, rec.Epoch, rec.Row
	o.exists = true
	if rec.Node != o.e.node {
		o.row.Epoch = rec.Epoch + 1
	}
	task := &a2a.Task{}
	for _, en := range entries {
		task.Apply(en)
		o.draft.replay(en)
		o.last = en.Time
		if rec.Turn == 0 || en.Seq < rec.Turn {
			continue
		}
		switch en.Kind {
		case a2a.EntryMessage:
			p := newPost(en.Message, recall(o.key, en.Received))
			p.entry, p.reopen = en, true // which matters for tasks of version 0.1 alone
			close(p.settled)
			o.turn.messages = append(o.turn.messages, p)
		case a2a.EntryStep:
			o.turn.steps = append(o.turn.steps, en.Step)
		case a2a.EntryCancel:
			o.canceling = true
		case a2a.EntryStatus:
			if en.Status.Status.State == a2a.TaskStateSubmitted {
				// The message that began the turn had come in the one before.
				o.turn.steps, o.canceling = nil, false
			}
		}
	}
	// A run that was lost before its first append is known by the claim alone.
	o.turn.attempt = max(rec.Attempt, rec.Lost)
	o.turn.taken = len(o.turn.messages)
	o.turn.lost = rec.Lost
	o.topic.adopt(o, task, rec.Last)
	if o.draft.state.Terminal() || !active(o.draft.state) && !o.canceling {
		return nil
	}
	return o.resumeLocked(rec.Lost)
}

// resumeLocked goes on with a task whose process is gone.
func (o *owner) resumeLocked(lost int32) error {
	switch {
	case o.canceling:
		return o.emitLocked(o.status(a2a.TaskStateCanceled, nil))
	case len(o.turn.messages) == 0:
		return o.emitLocked(o.status(a2a.TaskStateFailed, words("the task was interrupted before its work began")))
	case lost >= o.e.opts.maxLost():
		o.log().Error("task given up", "lost", lost)
		return o.emitLocked(o.status(a2a.TaskStateFailed, words(fmt.Sprintf("the work was interrupted %d times and was given up", lost))))
	}
	o.log().Info("task taken up again", "attempt", o.turn.attempt+1, "lost", lost)
	o.startLocked()
	return nil
}

// everyone is a time before which all nodes were last heard of: a store that
// is open here is open nowhere else, so every other node is gone, whatever the
// clock says.
var everyone = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// recover takes up the tasks that earlier processes left unfinished.
func (e *Engine) recover(ctx context.Context) error {
	if err := e.store.Beat(ctx, e.node, time.Now()); err != nil {
		return err
	}
	const batch = 100
	for {
		rows, err := e.store.Claim(ctx, e.node, everyone, batch)
		if err != nil {
			return err
		}
		for _, row := range rows {
			o, _, err := e.own(ctx, row.Key, nil)
			if err != nil {
				// One broken task must not keep the others from running.
				e.log.Error("task cannot be taken up", "task", row.ID, "error", err)
				continue
			}
			o.release()
		}
		if len(rows) < batch {
			close(e.claimed)
			return nil
		}
	}
}
