package task

import (
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
func (o *Owner) reopenLocked() error {
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
// ended, with the record end: they begin the next turn, or their senders are told,
// once the end is committed. If it never is, another process runs the agent, which
// gets these messages.
func (o *Owner) endLocked(end *record) {
	unread, credentials := o.turn.messages[o.turn.taken:], o.auth.over()
	end.missed = append(slices.Clip(unread), credentials...)
	spared := max(o.turn.canceled-o.turn.taken, 0) // a cancellation is for what came before it, too
	if i := slices.IndexFunc(unread[spared:], func(p *Post) bool { return p.Reopen }); i >= 0 {
		i += spared
		ended := o.draft
		en := o.status(a2a.TaskStateSubmitted, nil)
		if o.draft.reopen(en) == nil {
			end.missed = append(slices.Clip(unread[:i]), credentials...)
			end.tied = true
			o.pendLocked(o.newRecordLocked(en))
			o.succession.next = &successor{o.draft, turnState{messages: unread[i:], attempt: 1}}
			if o.succession.left == nil {
				o.succession.left = make(chan struct{})
			}
		}
		o.draft = ended // what o's agent says comes after the end
	}
}

// tellMissed tells the senders of messages that the agent never takes, if the end
// behind which they are is committed. If it is not, they know as little as those of a
// process that is gone.
func tellMissed(records []record, committed bool) {
	for i := range records {
		for _, p := range records[i].missed {
			if committed {
				p.Unread.Store(true)
			}
			p.decided()
		}
	}
}

// began says where the turn begins: at seq, behind the end of another. It is
// known before the append, so that nobody sees that end and knows no better.
func (s *successor) began(seq int64) {
	for _, p := range s.turn.messages {
		p.Over.Store(seq - 1)
	}
}

// succeedLocked hands the task to the owner of its next turn: that of the last
// one may have an agent that still speaks. It needs the lock of the topics, too.
func (o *Owner) succeedLocked() {
	os := o.all
	n := os.newOwner(o.key, o.contextID)
	n.saved.last, n.saved.epoch, n.saved.row = o.saved.last, o.saved.epoch, o.saved.row
	n.lease = lease{node: o.all.Node, epoch: o.saved.epoch, next: o.saved.epoch}
	n.out.exists, n.out.last = true, o.out.last
	n.draft, n.turn = o.succession.next.draft, o.succession.next.turn
	n.draft.artifacts = n.draft.artifacts.clone()
	// Whether the agent takes these messages is known to n.
	o.turn.messages = o.turn.messages[:len(o.turn.messages)-len(n.turn.messages)]
	n.turn.attempt = 0 // startLocked counts
	n.mem.weight, n.adm.worked, n.tracing.first = o.mem.weight, o.adm.worked, o.tracing.first
	n.chargeLocked()
	n.topic = os.Topics.JoinLocked(o.key)
	n.topic.HandOver(n)
	os.m[o.key] = n
	os.work.Add(1)
	n.ready.Give()
	n.mu.Lock()
	n.enterLocked(phaseStarting)
	n.startLocked()
	n.mu.Unlock()
	go n.run()
}
