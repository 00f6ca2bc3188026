package engine

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// SendMessage implements a2a.Service (specification §3.1.1, §3.2.2).
func (e *Engine) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	if err := e.gate.send(ctx, req, false); err != nil {
		return nil, err
	}
	p, t, err := e.deliver(ctx, req)
	if err != nil {
		return nil, err
	}
	defer e.leave(t)
	conf := req.Configuration
	if conf == nil {
		conf = &a2a.SendMessageConfiguration{}
	}
	if p.reply != nil {
		return &a2a.SendMessageResponse{Message: p.reply}, nil
	}
	if !conf.ReturnImmediately {
		if err := e.await(ctx, t, stops); err != nil {
			return nil, err
		}
		if err := e.wasRead(t.key, p); err != nil {
			return nil, err
		}
	}
	task, _, err := e.loadAt(ctx, t)
	if err != nil {
		return nil, err
	}
	task = task.LimitHistory(conf.HistoryLength)
	return &a2a.SendMessageResponse{Task: task}, nil
}

// SendStreamingMessage implements a2a.Service (specification §3.1.2).
func (e *Engine) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if err := e.gate.send(ctx, req, true); err != nil {
			yield(nil, err)
			return
		}
		p, t, err := e.deliver(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer e.leave(t)
		if p.reply != nil {
			yield(&a2a.StreamResponse{Message: p.reply}, nil)
			return
		}
		task := p.start
		if req.Configuration != nil {
			task = task.LimitHistory(req.Configuration.HistoryLength)
		}
		if !yield(&a2a.StreamResponse{Task: task, Seq: p.seq}, nil) {
			return
		}
		// A stream ends where the client is asked for input, and stays open
		// where an authorization may come by another way (§7.6.1, §11.7).
		ended := e.follow(ctx, t, p.seq, func(s a2a.TaskState) bool {
			return s.Terminal() || s == a2a.TaskStateInputRequired
		}, yield)
		if ended {
			if err := e.wasRead(t.key, p); err != nil {
				yield(nil, err)
			}
		}
	}
}

// stops is where a blocking send answers (specification §3.2.2).
func stops(s a2a.TaskState) bool { return s.Terminal() || s.Interrupted() }

// deliver hands a message to its task, which may be a new one, and waits until
// it is committed or answered. The caller leaves the topic.
func (e *Engine) deliver(ctx context.Context, req *a2a.SendMessageRequest) (*post, *topic, error) {
	key := scope(ctx, req.Tenant)
	f := from{caller: a2a.CallerFrom(ctx), metadata: req.Metadata}
	create := e.opts.createAfter()
	if c := req.Configuration; c != nil {
		f.accepted = c.AcceptedOutputModes
		if c.ReturnImmediately {
			create /= 10
		}
	}
	p := newPost(req.Message, f)
	if req.Message.TaskID != "" {
		key.ID = req.Message.TaskID
		t, err := e.followUp(ctx, key, p)
		if err != nil {
			return nil, nil, err
		}
		return e.settled(ctx, p, t)
	}
	key.ID = newID()
	contextID := req.Message.ContextID
	if contextID == "" {
		contextID = newID()
	}
	t := e.join(key)
	if _, err := e.begin(key, contextID, p, create); err != nil {
		e.leave(t)
		return nil, nil, err
	}
	return e.settled(ctx, p, t)
}

// followUp posts a message to an existing task. The look-up comes first, then
// the context, then the state.
func (e *Engine) followUp(ctx context.Context, key store.Key, p *post) (*topic, error) {
	t := e.join(key)
	task, _, err := e.loadAt(ctx, t)
	if err == nil {
		err = checkContext(p.message, task.ContextID)
	}
	if err == nil && task.Status.State.Terminal() {
		err = errFinished(key.ID)
	}
	if err == nil {
		var o *owner
		if o, err = e.acquire(ctx, key); err == nil {
			err = o.post(p)
			o.release()
		}
		if err == errTerminal { // which is true for others once it is committed
			if err = e.await(ctx, t, a2a.TaskState.Terminal); err == nil {
				err = errFinished(key.ID)
			}
		}
	}
	if err != nil {
		e.leave(t)
		return nil, err
	}
	return t, nil
}

func (e *Engine) settled(ctx context.Context, p *post, t *topic) (*post, *topic, error) {
	select {
	case <-p.settled:
		if p.err == nil {
			return p, t, nil
		}
		e.leave(t)
		return nil, nil, p.err
	case <-ctx.Done():
		e.leave(t)
		return nil, nil, context.Cause(ctx)
	}
}

// wasRead tells a sender whose message the agent never took that it was in
// vain: the task ended first.
func (e *Engine) wasRead(key store.Key, p *post) error {
	if p.unread.Load() {
		return &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: "the task ended before the agent took this message; GetTask shows how, a new task may take the message",
			Meta:    map[string]string{"taskId": key.ID},
		}
	}
	return nil
}
