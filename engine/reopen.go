package engine

import (
	"context"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// A finished task of version 0.1 begins anew with its client's next message.
// That may be there already when the turn ends: the agent did not take it, and
// did not see it. Then the end and the beginning of the next turn are one
// commit, so that the message is neither lost nor asked for again.

// successor is the turn that begins when the one before it has ended.
type successor struct {
	draft draft // as the next owner has it
	turn  turnState
}

// succession is how an owner makes room for the next one of its task.
type succession struct {
	left chan struct{} // if set, the owner leaves once the task's end is committed, without its agent; then it is closed
	next *successor    // if set, the task begins anew with its end
}

// reopenLocked begins a finished task anew, with all that was said and made in
// it; the next record, in the same append, is the message that asks for it.
func (o *owner) reopenLocked() error {
	en := o.status(a2a.TaskStateSubmitted, nil)
	if err := o.draft.reopen(en); err != nil {
		return err
	}
	r := o.newRecordLocked(en)
	r.tied = true
	o.pendLocked(r)
	o.turn = turnState{}
	o.auth = authorization{}
	return nil
}

// endLocked deals with the messages that the agent had not taken when the task
// ended, with the record end: their senders are told, or they begin the next
// turn.
func (o *owner) endLocked(end *record) {
	unread := o.turn.messages[o.turn.taken:]
	spared := max(o.turn.canceled-o.turn.taken, 0) // a cancellation is for what came before it, too
	if i := slices.IndexFunc(unread[spared:], func(p *post) bool { return p.reopen }); i >= 0 {
		i += spared
		ended := o.draft
		en := o.status(a2a.TaskStateSubmitted, nil)
		if o.draft.reopen(en) == nil {
			end.tied = true
			o.pendLocked(o.newRecordLocked(en))
			o.succession.next = &successor{o.draft, turnState{messages: unread[i:], attempt: 1}}
			unread = unread[:i]
			if o.succession.left == nil {
				o.succession.left = make(chan struct{})
			}
		}
		o.draft = ended // what o's agent says comes after the end
	}
	for _, p := range unread {
		p.unread.Store(true)
		p.decided()
	}
	o.auth.over()
}

// began says where the turn begins: at seq, behind the end of another. It is
// known before the append, so that nobody sees that end and knows no better.
func (s *successor) began(seq int64) {
	for _, p := range s.turn.messages {
		p.over.Store(seq - 1)
	}
}

// succeedLocked hands the task to the owner of its next turn: that of the last
// one may have an agent that still speaks. It needs the engine's lock, too.
func (o *owner) succeedLocked() {
	e := o.e
	n := e.newOwner(o.key, o.contextID)
	n.saved.last, n.saved.epoch, n.saved.row = o.saved.last, o.saved.epoch, o.saved.row
	n.lease = lease{node: o.e.node, epoch: o.saved.epoch, next: o.saved.epoch}
	n.out.exists, n.out.last = true, o.out.last
	n.draft, n.turn = o.succession.next.draft, o.succession.next.turn
	n.draft.artifacts = n.draft.artifacts.clone()
	n.turn.attempt = 0 // startLocked counts
	n.mem.weight, n.adm.worked = o.mem.weight, o.adm.worked
	n.chargeLocked()
	n.topic = e.topics.JoinLocked(o.key)
	n.topic.HandOver(n)
	e.owners[o.key] = n
	e.work.Add(1)
	n.ready.Give()
	n.mu.Lock()
	n.enterLocked(phaseStarting)
	n.startLocked()
	n.mu.Unlock()
	go n.run()
}

// awaitTurn waits until the turn that has a message stops, as await does.
func (e *Engine) awaitTurn(ctx context.Context, d accepted) (ended int64, _ error) {
	if d.again {
		return e.awaitStop(ctx, d)
	}
	p := d.post
	if end := d.topic.NewestEnd(); end > p.seq && end > p.over.Load() && !e.stopping() {
		return e.topics.FirstEnd(ctx, d.topic, max(p.seq, p.over.Load()), end, nil) // which most have by now
	}
	for after := p.seq; ; after = p.over.Load() {
		ended, err := e.topics.Await(ctx, d.topic, after, stops)
		if err != nil || ended == 0 || ended > p.over.Load() {
			return ended, err
		}
	}
}

// followTurn is follow for the sender of a message that may begin a turn after
// the one at hand, whose end is not in the stream. What is behind the cursor and
// before the message is, and ends nothing.
func (e *Engine) followTurn(ctx context.Context, d accepted, cursor, generation int64, end func(a2a.TaskState) bool, yield func(*a2a.StreamResponse, error) bool) bool {
	p := d.post
	if !d.turns(cursor) {
		return e.topics.Follow(ctx, d.topic, cursor, generation, end, yield)
	}
	on := false
	var held *a2a.StreamResponse // says that another one follows: that may not be shown
	there := e.topics.Follow(ctx, d.topic, cursor, generation, func(s a2a.TaskState) bool {
		return !on && end(s)
	}, func(ev *a2a.StreamResponse, err error) bool {
		before := ev != nil && ev.Seq <= d.seq
		if d.forwarded && ev != nil && !before && ev.State().Terminal() {
			e.overElsewhere(ctx, d)
		}
		over := ev != nil && !before && ev.State().Terminal() && ev.Seq <= p.over.Load()
		on = before || over
		if last := held; last != nil {
			held = nil
			if over {
				last = alone(last)
			}
			if !yield(last, nil) {
				return false
			}
		}
		switch {
		case over:
			return true
		case ev == nil || !ev.More:
			return yield(ev, err)
		case on: // an end after which the stream goes on, perhaps
			return yield(alone(ev), nil)
		}
		held = ev
		return true
	})
	if held != nil && !yield(held, nil) {
		return false
	}
	return there
}

// alone returns an event that nothing follows at once.
func alone(ev *a2a.StreamResponse) *a2a.StreamResponse {
	c := *ev
	c.More = false
	return &c
}

// turns reports whether a stream of d goes through ends of turns of others: the
// end is in the log, and the stream goes on.
func (d accepted) turns(cursor int64) bool { return d.post.reopen || cursor < d.seq }
