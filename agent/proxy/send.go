package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// fault is an error of this side, not of the call to the agent.
type fault struct{ err error }

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return &fault{err}
}

// begin sends the message of the turn, which begins a task at the agent, or finds the
// task that an earlier run began.
func (r *run) begin(ctx context.Context) error {
	refs, err := references(ctx, r.t)
	if err != nil {
		return &fault{err}
	}
	r.ours = derive(r.who, "context", r.t.Task().ContextID)
	id, theirs, err := r.a.contextFor(ctx, r.t, r.ours)
	if err != nil {
		return &fault{err}
	}
	r.context, r.invented = id, !theirs
	m := r.outgoing(r.t.Message())
	m.ReferenceTaskIDs = refs
	if r.doubt {
		if found, err := r.find(ctx, m); found || err != nil {
			return err
		}
	}
	return r.send(ctx, m)
}

// outgoing converts a message for the agent. Its id is always the same for a caller,
// and differs between callers.
func (r *run) outgoing(m *a2a.Message) *a2a.Message {
	return &a2a.Message{
		MessageID: derive(r.who, "message", r.t.Task().ID, m.MessageID),
		TaskID:    r.task, ContextID: r.context,
		Role: a2a.RoleUser, Parts: m.Parts, Metadata: m.Metadata, Extensions: m.Extensions,
	}
}

// request makes the request for a message.
func (r *run) request(m *a2a.Message) *a2a.SendMessageRequest {
	out := *m
	if r.c.ChoosesTaskIDs() && out.TaskID == "" {
		out.TaskID = r.chosen(m) // by which it is found again
	}
	req := &a2a.SendMessageRequest{
		Message: &out, Metadata: r.metadata(),
		Configuration: &a2a.SendMessageConfiguration{
			AcceptedOutputModes: r.t.AcceptedOutputModes(),
			ReturnImmediately:   !streams(r.c), // then the task is polled
		},
	}
	if r.task == "" && r.hooks != nil && offers(r.c.Card().Capabilities.PushNotifications) {
		req.Configuration.TaskPushNotificationConfig = r.hooks.config(r.hookID())
	}
	return req
}

func (r *run) chosen(m *a2a.Message) string { return derive(r.who, "task", m.MessageID) }

func (r *run) hookID() string {
	return derive(r.who, "hook", r.t.Task().ID, r.t.Message().MessageID)
}

// metadata returns the members of the request's metadata that are passed on.
func (r *run) metadata() a2a.JSON {
	all, only := r.t.Metadata(), r.a.opts.Metadata
	if only == nil || len(all) == 0 {
		return all
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(all, &members) != nil {
		return nil
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !slices.Contains(only, name) })
	if len(members) == 0 {
		return nil
	}
	out, _ := json.Marshal(members)
	return out
}

func streams(c *a2aclient.Client) bool { return offers(c.Card().Capabilities.Streaming) }
func offers(b *bool) bool              { return b != nil && *b }

// send sends a message and takes the answer, to the end of the stream. It sends the
// message again only if the agent cannot have taken it, or recognizes a repeated
// message. After an answer the error is nil, or a fault: follow fetches what is
// missing.
func (r *run) send(ctx context.Context, m *a2a.Message) error {
	began := time.Now()
	for n := 0; ; n++ {
		events := r.events
		r.spoke = false
		err := r.redial(ctx)
		if err == nil {
			before := r.doubt
			r.doubt = true
			err = r.sendOnce(ctx, m)
			if v := judge(err); v == away || v == refused {
				r.doubt = before
			}
		}
		_, own := errors.AsType[*fault](err)
		switch {
		case err == nil || own:
			return err
		case r.events > events: // it has answered
			r.log.Debug("the agent's stream ended", "error", err)
			return nil
		}
		switch v := judge(err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.yield(m, err):
			r.doubt = false
			continue
		case v == away, v == lost && r.c != nil && r.c.Repeats() > time.Since(began): // it is sent again
		default:
			return err
		}
		if err := r.pause(ctx, n, err); err != nil {
			return err
		}
	}
}

// yield drops what may be the reason for a refusal other than the message itself: a
// context id of our own making, or a webhook.
func (r *run) yield(m *a2a.Message, err error) bool {
	e := said(err)
	if e == nil || !e.Peer || r.task != "" {
		return false
	}
	switch e.Code {
	case a2a.CodeInvalidParams, a2a.CodeInvalidRequest, a2a.CodeTaskNotFound, a2a.CodeUnsupportedOperation,
		a2a.CodePushNotificationNotSupported:
	default:
		return false // the agent may have begun to work
	}
	switch {
	case r.hooks != nil:
		r.hooks = nil
	case r.invented && m.ContextID != "":
		m.ContextID, r.context = "", ""
	default:
		return false
	}
	r.log.Info("the agent refused a message; trying again without its optional members", "error", err)
	return true
}

func (r *run) sendOnce(ctx context.Context, m *a2a.Message) error {
	lasting := ctx
	if r.task == "" {
		r.known = make(chan struct{})
		var stop func()
		lasting, stop = linger(ctx, r.known)
		defer stop()
	}
	req := r.request(m)
	if streams(r.c) {
		return r.watch(lasting, r.c.SendStreamingMessage(lasting, req))
	}
	res, err := r.c.SendMessage(lasting, req)
	if err != nil {
		return err
	}
	return wrap(r.take(lasting, &a2a.StreamResponse{Task: res.Task, Message: res.Message}))
}

// grace is how long to wait for the agent's first answer, which names its task, when
// the server stops, and cancelWait when the task is cancelled.
var (
	grace      = 5 * time.Second
	cancelWait = time.Second
)

// linger returns a context that outlives ctx by a bounded time, until the agent's task
// is known: without it nobody knows whether the message was taken.
func linger(ctx context.Context, known <-chan struct{}) (context.Context, func()) {
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		d := grace
		if context.Cause(ctx) != agent.ErrDraining {
			d = cancelWait
		}
		select {
		case <-time.After(d):
		case <-known:
		case <-lasting.Done():
		}
		cancel(context.Cause(ctx))
	})
	return lasting, func() {
		cancel(nil)
		if !stop() {
			<-done
		}
	}
}
