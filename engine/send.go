package engine

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/engine/internal/wake"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/store"
)

// SendMessage implements a2a.Service (specification §3.1.1, §3.2.2).
func (s *service) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	e := s.e
	a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksWrite)
	if err != nil {
		return nil, err
	}
	if err := a.role.gate.send(a, req, false); err != nil {
		return nil, err
	}
	d, err := e.deliver(ctx, a, req, false)
	budget.From(ctx).Close() // the task has the message now, and counts it
	if err != nil {
		return nil, err
	}
	defer d.leave(e)
	d.traceReplay(ctx)
	conf := req.Configuration
	if conf == nil {
		conf = &a2a.SendMessageConfiguration{}
	}
	if reply := d.post.reply; reply != nil {
		return &a2a.SendMessageResponse{Message: reply}, nil
	}
	ended := int64(0)
	if !conf.ReturnImmediately {
		if ended, err = e.awaitTurn(ctx, d); err != nil {
			return nil, err
		}
		if err := d.wasRead(ctx, e); err != nil {
			return nil, err
		}
	}
	task, err := e.topics.EndedAt(ctx, d.topic, ended)
	if err != nil {
		return nil, err
	}
	task = task.LimitHistory(conf.HistoryLength)
	return &a2a.SendMessageResponse{Task: task}, nil
}

// SendStreamingMessage implements a2a.Service (specification §3.1.2).
func (s *service) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		e := s.e
		a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksWrite)
		if err == nil {
			err = a.role.gate.send(a, req, true)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		d, err := e.deliver(ctx, a, req, true)
		budget.From(ctx).Close() // as in SendMessage
		if err != nil {
			yield(nil, err)
			return
		}
		defer d.leave(e)
		d.traceReplay(ctx)
		if reply := d.post.reply; reply != nil {
			yield(&a2a.StreamResponse{Message: reply, More: true}, nil)
			return
		}
		task, cursor, err := e.start(ctx, d, req)
		if err != nil {
			yield(nil, err)
			return
		}
		first := task
		if req.Configuration != nil {
			first = task.LimitHistory(req.Configuration.HistoryLength)
		}
		more := d.ended(cursor, task) || !d.turns(cursor) && d.topic.Beyond(cursor)
		if !yield(&a2a.StreamResponse{Task: first, Seq: cursor, More: more}, nil) {
			return
		}
		if d.ended(cursor, task) || e.followTurn(ctx, d, cursor, task.Generation, endsStream, yield) {
			if err := d.wasRead(ctx, e); err != nil {
				yield(nil, err)
			}
		}
	}
}

// endsStream is where a stream of a send ends: where the client is asked for
// input. It stays open where an authorization may come by another way (§7.6.1,
// §11.7).
func endsStream(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }

// stops is where a blocking send answers (specification §3.2.2).
func stops(s a2a.TaskState) bool { return s.Terminal() || s.Interrupted() }

// deliver hands a message to its task, which may be a new one, and waits until
// it is committed or answered. One that is known, because it came before, is
// not delivered again. The caller leaves what it gets.
func (e *Engine) deliver(ctx context.Context, a *access, req *a2a.SendMessageRequest, stream bool) (accepted, error) {
	s := sender{stream: stream}
	if e.opts.Retries.known(a.caller) {
		return e.deliverOnce(ctx, a, req, s)
	}
	for {
		d, err := e.deliverNew(ctx, a, req, nil, s)
		switch {
		case beaten(err, req):
		case e.moved(err):
			return e.deliverAs(ctx, a, req, e.forwardName(a, req), s)
		default:
			return d, err
		}
	}
}

// sender is how a message is sent.
type sender struct {
	stream bool
	here   bool // it was forwarded to this process, and goes no further
	fate   bool // that wants to know whether the agent takes it
}

// deliverNew is deliver for a message that is new. own, if not nil, is this
// send's registration.
func (e *Engine) deliverNew(ctx context.Context, a *access, req *a2a.SendMessageRequest, own *sending, s sender) (accepted, error) {
	if err := e.takesNothing(); err != nil {
		return accepted{}, err
	}
	if err := e.present(ctx); err != nil {
		return accepted{}, err
	}
	legacy := req.Legacy
	if legacy == nil {
		legacy = &a2a.Legacy{}
	}
	both := &struct { // in one piece
		birth birth
		post  post
	}{}
	b, p := &both.birth, &both.post
	*b = birth{
		contextID: req.Message.ContextID,
		version:   legacy.Version,
		taskOnly:  legacy.TaskOnly || legacy.CreateByID, // an id that the client chose names a task
		create:    e.opts.CreateAfter,
	}
	f := from{caller: a.caller, metadata: req.Metadata}
	var expect *int64
	if c := req.Configuration; c != nil {
		f.accepted, expect = c.AcceptedOutputModes, c.IfGenerationMatch
		if c.ReturnImmediately {
			b.create /= 10
		}
	}
	if e.tracer != nil && (req.Configuration == nil || !req.Configuration.ReturnImmediately || s.stream) {
		f.call = telemetry.Call(ctx)
	}
	if b.taskOnly {
		// There is nothing to wait for, but a quick agent is worth a moment:
		// then all it does is one commit.
		b.create = min(b.create, time.Millisecond)
	}
	if b.contextID == "" {
		b.contextID = newID()
	}
	p.message, p.from, p.stream = req.Message, f, s.stream
	if s.fate {
		p.fate = &wake.Signal{}
	}
	p.expect, p.reopen = expect, legacy.Reopen
	if c := req.Configuration; c != nil && c.TaskPushNotificationConfig != nil {
		var err error
		if p.push, err = e.pushWith(ctx, a, req); err != nil {
			return accepted{}, err
		}
	}
	if own != nil {
		p.identity = own.Identity
	}
	b.post = p
	t, o, err := e.place(ctx, a.scope, req.Message.TaskID, b, legacy.CreateByID)
	if err != nil {
		return accepted{}, err
	}
	if own != nil {
		own.post, own.key = p, t.Key
	}
	if o != nil {
		o.attend(ctx, p)
	}
	return e.settled(ctx, p, t)
}

// place posts b's message: to the task that it names, or to one that begins
// with it. That has an owner, then, which the caller has to attend to.
func (e *Engine) place(ctx context.Context, key store.Key, id string, b *birth, createByID bool) (*topic.Topic, *owner, error) {
	key.ID = id
	if id == "" {
		key.ID = newID()
	}
	t := e.topics.Join(key)
	var o *owner
	var err error
	switch {
	case id == "":
		o, err = e.begin(ctx, key, b)
	case createByID && mayBegin(id) == nil:
		o, err = e.followUp(ctx, t, b.post, b)
	case createByID:
		if o, err = e.followUp(ctx, t, b.post, nil); errors.Is(err, a2a.ErrTaskNotFound) {
			err = mayBegin(id)
		}
	default:
		o, err = e.followUp(ctx, t, b.post, nil)
	}
	if err != nil {
		e.topics.Leave(t)
		return nil, nil, err
	}
	return t, o, nil
}

// followUp posts a message to an existing task. The look-up comes first, then
// the context, then the state. With a birth the task may begin with it: then it
// has an owner, which the caller has to attend to.
func (e *Engine) followUp(ctx context.Context, t *topic.Topic, p *post, b *birth) (*owner, error) {
	var held *owner // released below
	if b != nil {
		// Mostly there is no such task, which one look tells.
		o, born, err := e.own(ctx, t.Key, b)
		if err != nil {
			return nil, err
		}
		if born {
			o.release()
			return o, nil
		}
		held = o
	}
	own := func() (*owner, bool, error) {
		if o := held; o != nil {
			held = nil
			return o, false, nil
		}
		return e.own(ctx, t.Key, b)
	}
	is, err := e.topics.Standing(ctx, t)
	switch {
	case b != nil && errors.Is(err, a2a.ErrTaskNotFound):
		err = nil // nothing of it is committed, or it is deleted
	case err == nil:
		err = checkContext(p.message, is.Context)
		if err == nil && a2a.TaskState(is.State).Terminal() && !p.reopen { // otherwise its owner knows whether it may
			err = errFinished(t.Key.ID)
		}
	}
	if err != nil {
		if held != nil {
			held.release()
		}
		return nil, err
	}
	for {
		o, born, err := own()
		if err != nil {
			return nil, err
		}
		if !born {
			if err = checkContext(p.message, o.contextID); err == nil {
				err = e.acceptedBefore(ctx, t, p)
			}
			if err == nil {
				var done func()
				if done, err = o.admit(ctx, p); err == nil {
					err = o.post(p)
				}
				done()
			}
		}
		o.release()
		switch err {
		case errRetiring:
			select {
			case <-o.succession.left: // set by now, and constant
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case errTerminal: // which is true for others once it is committed
			if _, err := e.topics.Await(ctx, t, is.Last, a2a.TaskState.Terminal); err != nil {
				return nil, err
			}
			return nil, errFinished(t.Key.ID)
		}
		if !born {
			o = nil
		}
		return o, err
	}
}

func (e *Engine) settled(ctx context.Context, p *post, t *topic.Topic) (accepted, error) {
	if p.settled.Was() && p.err == nil {
		return accepted{post: p, topic: t, seq: p.seq}, nil
	}
	var err error
	select {
	case <-p.settled.Wait():
		if p.err == nil {
			return accepted{post: p, topic: t, seq: p.seq}, nil
		}
		err = p.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	e.topics.Leave(t)
	return accepted{}, err
}
