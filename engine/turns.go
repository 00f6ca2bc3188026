package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/topic"
)

// awaitTurn waits until the turn that takes the message stops, as Topics.Await does.
func (e *Engine) awaitTurn(ctx context.Context, d accepted) (ended int64, _ error) {
	if d.again {
		return e.awaitStop(ctx, d)
	}
	p := d.post
	if end := d.topic.NewestEnd(); end > p.Seq && end > p.Over.Load() && !e.stopping() {
		return e.topics.FirstEnd(ctx, d.topic, max(p.Seq, p.Over.Load()), end, nil) // most turns have ended by now
	}
	for after := p.Seq; ; after = p.Over.Load() {
		ended, err := e.topics.Await(ctx, d.topic, after, stops)
		if err != nil || ended == 0 || ended > p.Over.Load() {
			return ended, err
		}
	}
}

// followTurn is Topics.Follow for the sender of a message. The message may begin the turn after
// the present one, whose end then does not end the stream and is not shown. Entries between the
// cursor and the message are shown, but do not end the stream.
func (e *Engine) followTurn(ctx context.Context, d accepted, from topic.Position, end func(a2a.TaskState) bool, yield func(*a2a.StreamResponse, error) bool) bool {
	p := d.post
	if !d.turns(from.Seq) {
		return e.topics.Follow(ctx, d.topic, from, end, yield)
	}
	on := false
	var held *a2a.StreamResponse // says that another event follows, which may not be shown
	there := e.topics.Follow(ctx, d.topic, from, func(s a2a.TaskState) bool {
		return !on && end(s)
	}, func(ev *a2a.StreamResponse, err error) bool {
		before := ev != nil && ev.Seq <= d.seq
		if d.forwarded && ev != nil && !before && ev.State().Terminal() {
			e.overElsewhere(ctx, d)
		}
		over := ev != nil && !before && ev.State().Terminal() && ev.Seq <= p.Over.Load()
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
		case on: // an end after which the stream may go on
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

// alone returns a copy of an event that says that no other follows at once.
func alone(ev *a2a.StreamResponse) *a2a.StreamResponse {
	c := *ev
	c.More = false
	return &c
}

// turns reports whether a stream of d may pass ends of other turns: such an end is in the log,
// but the stream goes on.
func (d accepted) turns(cursor int64) bool { return d.post.Reopen || cursor < d.seq }
