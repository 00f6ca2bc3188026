package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/topic"
)

// A message may begin the turn after the present one: its agent did not take it, or it reopens
// the task. The end of the present turn is then not the sender's: see task.Post.Over.

// since returns the seq after which the end of d's turn comes: that of the message, or of the
// end of an earlier turn.
func (d accepted) since() int64 { return max(d.seq, d.post.Over.Load()) }

// awaitTurn waits until the turn that takes the message stops, as Topics.Await does.
func (e *Engine) awaitTurn(ctx context.Context, d accepted) (ended int64, _ error) {
	if d.again {
		return e.awaitStop(ctx, d)
	}
	for {
		ended, err := e.topics.Await(ctx, d.topic, d.since(), stops)
		if err != nil || ended == 0 || ended > d.since() {
			return ended, err
		}
	}
}

// followTurn is Topics.Follow for the sender of a message. The end of an earlier turn does not
// end the stream. It is shown if it is between the cursor and the message. If it comes after
// the message it is not shown: the next turn begins with it, so another event follows at once.
func (e *Engine) followTurn(ctx context.Context, d accepted, from topic.Position, end func(a2a.TaskState) bool, yield func(*a2a.StreamResponse, error) bool) bool {
	return e.topics.Follow(ctx, d.topic, from, func(ev *a2a.StreamResponse) bool {
		return ev.Seq > d.since() && end(ev.State())
	}, func(ev *a2a.StreamResponse, err error) bool {
		if err == nil && ev.Seq > d.seq && topic.IsEnd(ev) {
			if d.forwarded {
				e.overElsewhere(ctx, d)
			}
			if ev.Seq <= d.since() {
				return true
			}
		}
		return yield(ev, err)
	})
}
