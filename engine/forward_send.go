package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// forwardSend hands a message to the process that has its task, which err names. The caller
// must call the result's leave. errMoved means that the caller has to look up the outcome
// again.
func (e *Engine) forwardSend(ctx context.Context, a *access, req *a2a.SendMessageRequest, id *again.Identity, stream bool, err error) (accepted, error) {
	by := holderIn(err)
	if by == nil {
		return accepted{}, errMoved // the task was lost a moment ago; by now the store knows which process has it
	}
	m := &memo{Send: sendMemo(a, req, id)}
	m.Send.Waits = stream || req.Configuration == nil || !req.Configuration.ReturnImmediately
	key := a.own(req.Message.TaskID)
	answer, later, err := e.forward(ctx, key, by, m)
	if err != nil {
		return accepted{}, err
	}
	if answer.Error != nil {
		return accepted{}, answer.Error.err()
	}
	d, found, err := e.acceptedAt(ctx, key, req, answer.Seq)
	if !found || err != nil {
		later.forget(e)
		if err == nil {
			err = stored.NotFound(key.ID) // deleted since
		}
		return accepted{}, err
	}
	d.forwarded, d.verdict = true, later
	if answer.Unread {
		d.post.Unread.Store(true)
	}
	return d, nil
}

// verdict is an answer to come: whether the agent took a message.
type verdict struct {
	id      string
	answers <-chan *memoAnswer
}

func (v *verdict) forget(e *Engine) {
	if v != nil {
		e.forwards.forget(v.id)
	}
}

// verdictWait is how long a sender waits to hear whether its message was taken, once the task
// has ended. The other process knows before that, but its answer may be late or lost.
const verdictWait = 2 * time.Second

// unread waits for the verdict. Without one the message counts as taken, as after the death of
// the process that had the task.
func (v *verdict) unread(ctx context.Context, e *Engine) bool {
	late := time.After(verdictWait)
	for {
		select {
		case a := <-v.answers:
			if !a.Later { // not the first answer once more
				return a.Unread
			}
		case <-late:
			return false
		case <-e.draining:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// serve does what another process asked. fate, if not nil, tells whether the agent takes the
// message, which the asking process wants to know.
func (e *Engine) serve(ctx context.Context, m *memo) (_ *memoAnswer, fate *task.Post) {
	var a *memoAnswer
	var err error
	switch {
	case m.Send != nil:
		a, fate, err = e.serveSend(ctx, m.Send)
	case m.Cancel != nil:
		a, err = e.serveCancel(ctx, m.Cancel)
	default:
		err = a2a.Errorf(a2a.CodeUnavailable, "the process that works at the task is of an earlier release; try again shortly")
	}
	switch {
	case err == nil:
		return a, fate
	case e.moved(err), errors.Is(err, errMoved), e.stopping(), ctx.Err() != nil:
		return &memoAnswer{Moved: true}, nil
	}
	if known, ok := errors.AsType[*a2a.Error](err); !ok || known.Cause != nil && known.RetryAfter == 0 { // otherwise it is a limit
		e.log.Error("a request that another process forwarded failed", "error", err)
	}
	return &memoAnswer{Error: errorMemo(err)}, nil
}

func (e *Engine) serveSend(ctx context.Context, s *memoSend) (*memoAnswer, *task.Post, error) {
	a, req, id, err := s.request()
	if err != nil {
		return nil, nil, err
	}
	ctx = a2a.WithCaller(ctx, a.caller) // a webhook that comes with the message is the caller's
	d, err := e.deliverAs(ctx, a, req, id, sender{here: true, fate: s.Waits})
	if err != nil {
		return nil, nil, err
	}
	defer d.leave(e)
	if d.topic == nil { // another process answered it without a task: the receipt tells
		return nil, nil, errMoved
	}
	answer := &memoAnswer{Seq: d.seq}
	if f := d.post.Fate; s.Waits && f != nil {
		if answer.Later = !f.Was(); answer.Later {
			return answer, d.post, nil
		}
		answer.Unread = d.post.Unread.Load()
	}
	return answer, nil, nil
}

// tell answers whether the agent took a message, once that is certain. The answer repeats the
// message's position, because the first answer may be lost.
func (e *Engine) tell(ctx context.Context, m *memo, seq int64, p *task.Post) {
	select {
	case <-p.Fate.Wait(): // at the latest when its owner leaves
		e.answer(ctx, m, &memoAnswer{Seq: seq, Unread: p.Unread.Load()})
	case <-ctx.Done():
	}
}

// overElsewhere checks whether a turn that ended in another process did not take d's message:
// then the next turn began together with that end. See task.Post.Over.
func (e *Engine) overElsewhere(ctx context.Context, d accepted) {
	p := d.post
	if !p.Reopen || p.Entry != nil { // its owner is in this process, and knows
		return
	}
	rec, err := e.store.Get(ctx, d.topic.Key, store.RowOnly)
	if err != nil {
		return // the stream ends a turn too early, and can be resumed
	}
	if over, err := e.overBefore(ctx, rec, d.seq); err == nil && over > p.Over.Load() {
		p.Over.Store(over)
	}
}
