package task

import (
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// A finished task of version 0.1 begins anew with its client's next message. That message may
// already be there when the turn ends, not taken by the agent. Then the end and the beginning
// of the next turn are one commit, so that the message is not lost and its sender need not
// repeat it.

// successor is the turn that begins when the one before it has ended.
type successor struct {
	draft draft // of the next owner
	turn  turnState
}

// succession is how an owner hands its task to the next owner.
type succession struct {
	left chan struct{} // if set, the owner leaves once the task's end is committed, without waiting for its agent, and then closes this
	next *successor    // if set, this turn begins with the task's end
}

// reopenLocked reopens a finished task, which keeps its messages and artifacts. The next
// record, in the same append, is the message that reopens it.
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

// endLocked handles the messages that the agent had not taken when the task ended with the
// record end. They begin the next turn, or their senders are told once the end is committed. If
// it never is, another process runs the agent, which gets these messages.
func (o *Owner) endLocked(end *record) {
	unread, credentials := o.turn.messages[o.turn.taken:], o.auth.over()
	end.missed = append(slices.Clip(unread), credentials...)
	spared := max(o.turn.canceled-o.turn.taken, 0) // a cancellation also covers the messages before it
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
		o.draft = ended // events of o's agent come after the end
	}
}

// tellMissed tells senders that the agent never takes their messages, if the task's end is
// committed. If it is not, they learn nothing, as after the death of a process.
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

// began notes that the turn begins at seq, right after the end of the turn before. It is called
// before the append, so that no sender takes that end for its own.
func (s *successor) began(seq int64) {
	for _, p := range s.turn.messages {
		p.Over.Store(seq - 1)
	}
}

// succeedLocked hands the task to a new owner for its next turn, because this owner's agent may
// still emit events. The caller holds the lock of the topics, too.
func (o *Owner) succeedLocked() {
	os := o.all
	n := os.newOwner(o.key, o.contextID)
	n.saved.last, n.saved.epoch, n.saved.row = o.saved.last, o.saved.epoch, o.saved.row
	n.lease = lease{node: o.all.Node, epoch: o.saved.epoch, next: o.saved.epoch}
	n.out.exists, n.out.last = true, o.out.last
	n.draft, n.turn = o.succession.next.draft, o.succession.next.turn
	n.draft.artifacts = n.draft.artifacts.clone()
	// From now on n decides whether the agent takes these messages.
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
