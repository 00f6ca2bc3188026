package engine

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
	"go.opentelemetry.io/otel/trace"
)

// SendMessage implements a2a.Service (specification §3.1.1, §3.2.2).
func (s *service) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	e := s.e
	d, err := s.accept(ctx, req, false)
	if err != nil {
		return nil, err
	}
	defer d.leave(e)
	conf := req.Configuration
	if conf == nil {
		conf = &a2a.SendMessageConfiguration{}
	}
	if reply := d.post.Reply; reply != nil {
		return &a2a.SendMessageResponse{Message: reply}, nil
	}
	ended := int64(0)
	if !conf.ReturnImmediately {
		if ended, err = e.awaitTurn(ctx, d); err != nil {
			return nil, err
		}
	}
	task, last, err := e.topics.EndedAt(ctx, d.topic, ended)
	if err == nil && !conf.ReturnImmediately && task.Status.State.Terminal() { // otherwise the agent may still take the message
		err = d.wasRead(ctx, e)
	}
	if err == nil {
		task, err = e.timeline(ctx, d.topic.Key, task, last, conf.TimelineLength)
	}
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
		d, err := s.accept(ctx, req, true)
		if err != nil {
			yield(nil, err)
			return
		}
		defer d.leave(e)
		if reply := d.post.Reply; reply != nil {
			yield(&a2a.StreamResponse{Message: reply, More: true}, nil)
			return
		}
		task, cursor, err := e.start(ctx, d, req)
		if err != nil {
			yield(nil, err)
			return
		}
		first, messages := task, false
		if c := req.Configuration; c != nil {
			messages = c.TimelineLength != nil
			if first, err = e.timeline(ctx, d.topic.Key, task, cursor, c.TimelineLength); err != nil {
				yield(nil, err)
				return
			}
			first = first.LimitHistory(c.HistoryLength)
		}
		more := d.ended(cursor, task) || d.topic.Beyond(cursor)
		if !yield(&a2a.StreamResponse{Task: first, Seq: cursor, More: more}, nil) {
			return
		}
		if d.ended(cursor, task) || e.followTurn(ctx, d, topic.Position{Seq: cursor, Generation: task.Generation, Messages: messages}, endsStream, yield) {
			if err := d.wasRead(ctx, e); err != nil {
				yield(nil, err)
			}
		}
	}
}

// accept lets a message in and delivers it. The caller must call the result's leave.
func (s *service) accept(ctx context.Context, req *a2a.SendMessageRequest, stream bool) (accepted, error) {
	a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksWrite)
	if err == nil {
		err = a.role.gate.send(ctx, a, req, stream)
	}
	if err != nil {
		return accepted{}, err
	}
	d, err := s.e.deliver(ctx, a, req, stream)
	budget.From(ctx).Close() // the task has the message now, and counts it
	if d.again && !d.forwarded {
		trace.SpanFromContext(ctx).SetAttributes(telemetry.Replayed.Bool(true))
	}
	return d, err
}

// endsStream reports whether a stream of a send ends at s: at the end of the task, or when the
// client is asked for input. The stream stays open for an authorization, which may come by
// another way (§7.6.1, §11.7).
func endsStream(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }

// stops reports whether a blocking send answers at s (specification §3.2.2).
func stops(s a2a.TaskState) bool { return s.Terminal() || s.Interrupted() }

// deliver hands a message to its task, which may be a new one, and waits until it is committed
// or answered. A repeated message that is recognized is not delivered again. The caller must
// call the result's leave.
func (e *Engine) deliver(ctx context.Context, a *access, req *a2a.SendMessageRequest, stream bool) (accepted, error) {
	s := sender{stream: stream}
	if e.opts.Retries.known(a.caller) {
		id, err := again.Identify(a.scope, req, e.opts.Retries.window())
		if err != nil {
			return accepted{}, err
		}
		return e.deliverAs(ctx, a, req, id, s)
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

// sender says how a message is sent.
type sender struct {
	stream bool
	here   bool // the message was forwarded to this process, and goes no further
	fate   bool // the sender wants to know whether the agent takes the message
}

// deliverNew is deliver for a message that is new. own, if not nil, is this send's
// registration.
func (e *Engine) deliverNew(ctx context.Context, a *access, req *a2a.SendMessageRequest, own *sending, s sender) (accepted, error) {
	if err := e.takesNothing(); err != nil {
		return accepted{}, err
	}
	if err := e.present(ctx); err != nil {
		return accepted{}, err
	}
	legacy, conf := req.Legacy, req.Configuration
	if legacy == nil {
		legacy = &a2a.Legacy{}
	}
	if conf == nil {
		conf = &a2a.SendMessageConfiguration{}
	}
	both := &struct { // one allocation
		birth task.Birth
		post  task.Post
	}{}
	b, p := &both.birth, &both.post
	*b = task.Birth{
		Post:      p,
		ContextID: req.Message.ContextID,
		Version:   legacy.Version,
		TaskOnly:  legacy.TaskOnly || legacy.CreateByID, // an id that the client chose names a task
		Create:    e.opts.CreateAfter,
	}
	if b.ContextID == "" {
		b.ContextID = stored.NewID()
	}
	if conf.ReturnImmediately {
		b.Create /= 10
	}
	if b.TaskOnly {
		// No need to wait for a direct answer, but a quick agent is worth a moment: then all it
		// does is one commit.
		b.Create = min(b.Create, time.Millisecond)
	}
	p.Message, p.Stream, p.Expect, p.Reopen = req.Message, s.stream, conf.IfGenerationMatch, legacy.Reopen
	p.From = task.From{Caller: a.caller, Accepted: conf.AcceptedOutputModes, Metadata: req.Metadata}
	if e.tracer != nil && !telemetry.Dropped(a.caller.Trace) && (!conf.ReturnImmediately || s.stream) {
		p.From.Call = telemetry.Call(ctx)
	}
	if s.fate {
		p.Fate = &wake.Signal{}
	}
	posted := false
	if conf.TaskPushNotificationConfig != nil {
		push, added, err := e.pushWith(ctx, a, req)
		if err != nil {
			return accepted{}, err
		}
		p.Push = push
		defer func() {
			if !posted || p.Settled.Was() || !e.onceSettled(p, added) {
				added()
			}
		}()
	}
	if own != nil {
		p.Identity = own.Identity
	}
	t, o, err := e.place(ctx, a.scope, req.Message.TaskID, b, legacy.CreateByID)
	if err != nil {
		return accepted{}, err
	}
	posted = true
	if own != nil {
		own.post, own.key = p, t.Key
	}
	if o != nil {
		o.Attend(ctx, p)
	}
	return e.settled(ctx, p, t)
}

// place posts b's message to the task that it names, or to a new task. The owner of a new task
// is returned, and the caller must call its Attend.
func (e *Engine) place(ctx context.Context, key store.Key, id string, b *task.Birth, createByID bool) (*topic.Topic, *task.Owner, error) {
	key.ID = id
	if id == "" {
		key.ID = stored.NewID()
	}
	t := e.topics.Join(key)
	var o *task.Owner
	var err error
	switch {
	case id == "":
		o, err = e.owners.Begin(ctx, key, b)
	case createByID && mayBegin(id) == nil:
		o, err = e.followUp(ctx, t, b.Post, b)
	default:
		if o, err = e.followUp(ctx, t, b.Post, nil); createByID && errors.Is(err, a2a.ErrTaskNotFound) {
			err = mayBegin(id)
		}
	}
	if err != nil {
		e.topics.Leave(t)
		return nil, nil, err
	}
	return t, o, nil
}

// followUp posts a message to an existing task. With a birth, the message may create the task:
// then its owner is returned, and the caller must call its Attend.
func (e *Engine) followUp(ctx context.Context, t *topic.Topic, p *task.Post, b *task.Birth) (*task.Owner, error) {
	for {
		var last int64
		var err error
		if b == nil { // otherwise there is usually no such task, which one look-up tells
			if last, err = e.mayJoin(ctx, t, p); err != nil {
				return nil, err
			}
		}
		o, born, err := e.owners.Own(ctx, t.Key, b)
		if err != nil {
			return nil, err
		}
		if born {
			o.Release()
			return o, nil
		}
		if b != nil {
			if last, err = e.mayJoin(ctx, t, p); errors.Is(err, a2a.ErrTaskNotFound) {
				err = nil // the task is not committed yet, or was deleted
			}
		}
		if err == nil {
			err = o.Take(ctx, p)
		}
		o.Release()
		switch err {
		case task.ErrRetiring:
			select {
			case <-o.Left():
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case task.ErrTerminal: // others see the end only once it is committed
			if _, err := e.topics.Await(ctx, t, last, a2a.TaskState.Terminal); err != nil {
				return nil, err
			}
			return nil, errFinished(t.Key.ID)
		default:
			return nil, err
		}
	}
}

// mayJoin returns an error if a message cannot be for a task as it is now, whose last entry is
// at last: there is no such task, it has another context, or it is finished.
func (e *Engine) mayJoin(ctx context.Context, t *topic.Topic, p *task.Post) (last int64, _ error) {
	is, err := e.topics.Standing(ctx, t)
	if err == nil {
		err = task.CheckContext(p.Message, is.Context)
	}
	if err == nil && a2a.TaskState(is.State).Terminal() && !p.Reopen { // otherwise its owner knows whether the message may reopen it
		err = errFinished(t.Key.ID)
	}
	return is.Last, err
}

func (e *Engine) settled(ctx context.Context, p *task.Post, t *topic.Topic) (accepted, error) {
	if !p.Settled.Was() {
		select {
		case <-p.Settled.Wait():
		case <-ctx.Done():
			e.topics.Leave(t)
			return accepted{}, context.Cause(ctx)
		}
	}
	if p.Err != nil {
		e.topics.Leave(t)
		return accepted{}, p.Err
	}
	return accepted{post: p, topic: t, seq: p.Seq}, nil
}

func errFinished(id string) error {
	return stored.About(id, a2a.CodeUnsupportedOperation, "the task is finished and takes no more messages; start a new one in the same context")
}
