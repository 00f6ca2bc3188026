package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// accepted is the outcome of a message: a task, or a direct answer.
type accepted struct {
	post  *task.Post
	topic *topic.Topic // nil if there is no task
	seq   int64        // where the sender's stream begins: see task.Post.Seq
	again bool         // the message is a repeated one, and post may be of another sender

	forwarded bool     // the message was forwarded to another process, which accepted it
	verdict   *verdict // tells whether the agent there took it, if that is not known yet
}

func (d accepted) leave(e *Engine) {
	if d.topic != nil {
		e.topics.Leave(d.topic)
	}
	d.verdict.forget(e)
}

// ended reports whether a stream of d that begins with the task as of seq has
// nothing more to come.
func (d accepted) ended(seq int64, task *a2a.Task) bool {
	return seq >= d.seq && seq > d.post.Over.Load() && endsStream(task.Status.State)
}

// wasRead returns an error if the agent never took the sender's message, because the task ended
// first.
func (d accepted) wasRead(ctx context.Context, e *Engine) error {
	if !d.post.Unread.Load() && (d.verdict == nil || !d.verdict.unread(ctx, e)) {
		return nil
	}
	return stored.About(d.topic.Key.ID, a2a.CodeUnsupportedOperation, "the task ended before the agent took this message; GetTask shows how, a new task may take the message")
}

// awaitStop is awaitTurn for a repeated message: the turn may have stopped, and gone on, long
// ago.
func (e *Engine) awaitStop(ctx context.Context, d accepted) (ended int64, err error) {
	last, state, err := e.topics.At(ctx, d.topic)
	if err != nil {
		return 0, err
	}
	// The message is in the log, but this process may not know that yet.
	if last >= d.seq && stops(state) {
		return 0, nil
	}
	there := e.followTurn(ctx, d, topic.Position{Seq: d.seq}, stops, func(ev *a2a.StreamResponse, failed error) bool {
		if err = failed; err == nil && ev.State().Terminal() {
			ended = ev.Seq
		}
		return err == nil
	})
	switch {
	case there || err != nil:
		return ended, err
	case e.stopping():
		return 0, stored.Stopping()
	}
	// This process was about to delete the task, and sent its readers away.
	d.topic = e.topics.Join(d.topic.Key)
	defer e.topics.Leave(d.topic)
	return e.awaitStop(ctx, d)
}

// start returns the task with which a stream begins, and the seq up to which it
// is folded.
func (e *Engine) start(ctx context.Context, d accepted, req *a2a.SendMessageRequest) (*a2a.Task, int64, error) {
	if !d.again && d.post.Start != nil {
		return d.post.Start, d.seq, nil
	}
	if !d.again || d.forwarded {
		task, err := e.read.FoldTo(ctx, d.topic.Key, d.seq)
		return task, d.seq, err
	}
	at := d.seq
	if req.After != 0 {
		at = req.After
	}
	return e.topics.Attach(ctx, d.topic, &a2a.SubscribeToTaskRequest{After: at})
}

// overBefore returns the seq at which the last turn ended that did not take the message at seq,
// if that message may reopen the task; otherwise 0. See task.Post.Over.
//
// The index row has the beginning of the current turn. For earlier turns the log shows where
// they ended, but not always which messages were left for the next turn. A message that came in
// the middle of a turn is assumed to be left if the next turn began together with that turn's
// end. If that is wrong, the message's stream goes on for one turn more than the first stream
// did.
func (e *Engine) overBefore(ctx context.Context, rec *store.Record, seq int64) (over int64, _ error) {
	earlier := rec.Turn > seq // the message is in an earlier turn
	began := false            // the entry before this one began a turn
	for en, err := range e.read.Rest(ctx, &rec.Row, max(seq-2, 0)) {
		if err != nil {
			return 0, err
		}
		begins := en.Kind == a2a.EntryCreated || en.Kind == a2a.EntryStatus && en.Status.Status.State == a2a.TaskStateSubmitted
		switch {
		case en.Seq < seq:
		case earlier && en.Seq == seq && (began || en.Kind == a2a.EntryStatus):
			return 0, nil // the message began a turn or was an answer: it was taken
		case earlier && en.Seq > seq && began && en.Kind == a2a.EntryMessage:
			return 0, nil // the next turn has a message of its own
		case earlier && en.Seq > seq && began:
			return over, nil
		case begins:
			over = en.Seq - 1
		}
		began = begins
	}
	return over, nil
}
