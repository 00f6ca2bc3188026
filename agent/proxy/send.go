package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// fault is an error of this side, as opposed to one of the call that was made.
type fault struct{ err error }

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// begin sends the message of the turn, which begins a task of the agent's, or finds
// the task that an earlier run began.
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
	if n := r.t.Attempt(); n > 1 && r.unsent != n-1 {
		r.doubt = true
		if found, err := r.find(ctx, m); found || err != nil {
			return err
		}
	}
	return r.send(ctx, m)
}

// answer passes an answer to the agent's question on.
func (r *run) answer(ctx context.Context, answer *a2a.Message, secret bool) error {
	m := r.outgoing(answer)
	rec := record{Message: m.MessageID, Question: r.asked, Secret: secret}
	if asked := r.status.Message; asked != nil {
		rec.Asked = asked.MessageID
	}
	if err := r.note(ctx, rec); err != nil {
		return &fault{err}
	}
	// Once the agent may have it, a run after a crash has to know.
	if err := r.t.Sync(ctx); err != nil {
		return &fault{err}
	}
	return r.deliver(ctx, m)
}

// deliver sends an answer. Where it is not known whether it was taken, the task
// tells, or the caller is asked once more: it is not sent again in silence.
func (r *run) deliver(ctx context.Context, m *a2a.Message) error {
	err := r.send(ctx, m)
	if s := &r.status; err == nil && s.Timestamp.IsZero() && (s.Message == nil || s.Message.MessageID == "") {
		r.asked = "" // the next question cannot be told from this one
	}
	switch {
	case maybeTaken(err):
		r.log.Info("it is not known whether the agent took an answer", "error", err)
	case err == nil && r.spoke:
	case err != nil && refusal(err):
		r.log.Info("the agent refused an answer", "error", err)
	default:
		return err
	}
	task, why := r.get(ctx)
	switch {
	case why != nil:
		return why
	case question(&task.Status) != r.asked || maybeTaken(err) && took(task, m.MessageID):
		return nil // it has gone on, or is about to, or had ended
	case err != nil && refusal(err):
		if err := r.t.Status(reason(err, true)); err != nil {
			return &fault{err}
		}
	}
	r.asked = ""
	return nil
}

// regain goes on where a run stopped that was about to send an answer.
func (r *run) regain(ctx context.Context, last *record) error {
	task, err := r.get(ctx)
	if err != nil {
		return err
	}
	switch {
	case took(task, last.Message), !task.Status.State.Interrupted(), question(&task.Status) != last.Question:
		return nil
	case last.answer != nil && (r.c.Repeats() > 0 || slices.ContainsFunc(task.History, fromUser)):
		// The agent keeps what it was told, and has not been told this.
		m := r.outgoing(last.answer)
		return r.deliver(ctx, m)
	}
	r.asked = "" // the caller says it once more
	return nil
}

func fromUser(m *a2a.Message) bool { return m != nil && m.Role == a2a.RoleUser }

// took reports whether a task has a message.
func took(t *a2a.Task, messageID string) bool {
	return slices.ContainsFunc(t.History, func(m *a2a.Message) bool { return m != nil && m.MessageID == messageID })
}

// outgoing makes a message to the agent of one to us. Its id is the same whenever
// this is done, and another one for each caller.
func (r *run) outgoing(m *a2a.Message) *a2a.Message {
	return &a2a.Message{
		MessageID: derive(r.who, "message", r.t.Task().ID, m.MessageID),
		TaskID:    r.task, ContextID: r.context,
		Role: a2a.RoleUser, Parts: m.Parts, Metadata: m.Metadata, Extensions: m.Extensions,
	}
}

// request makes what is sent with a message.
func (r *run) request(m *a2a.Message) *a2a.SendMessageRequest {
	out := *m
	if r.c.Version() == "0.1" && out.TaskID == "" {
		out.TaskID = r.chosen(m) // there the client chooses it, and finds it by that
	}
	req := &a2a.SendMessageRequest{
		Message: &out, Metadata: r.metadata(),
		Configuration: &a2a.SendMessageConfiguration{
			AcceptedOutputModes: r.t.AcceptedOutputModes(),
			ReturnImmediately:   !streams(r.c), // it is polled
		},
	}
	if r.task == "" && r.a.hooks != nil && !r.pushless && offers(r.c.Card().Capabilities.PushNotifications) {
		req.Configuration.TaskPushNotificationConfig = r.a.hooks.config(r.hookID())
	}
	return req
}

func (r *run) chosen(m *a2a.Message) string { return derive(r.who, "task", m.MessageID) }

func (r *run) hookID() string {
	return derive(r.who, "hook", r.t.Task().ID, r.t.Message().MessageID)
}

// metadata returns what goes along of the request's.
func (r *run) metadata() a2a.JSON {
	all, only := r.t.Metadata(), r.a.opts.Metadata
	if only == nil || len(all) == 0 {
		return all
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(all, &members) != nil {
		return nil
	}
	for name := range members {
		if !slices.Contains(only, name) {
			delete(members, name)
		}
	}
	if len(members) == 0 {
		return nil
	}
	out, _ := json.Marshal(members)
	return out
}

func streams(c *a2aclient.Client) bool { return offers(c.Card().Capabilities.Streaming) }
func offers(b *bool) bool              { return b != nil && *b }

// send sends a message and takes what is answered, to the end of the stream. It is
// sent again only where the agent cannot have taken it, or knows it when it comes again.
// After an answer the error is nil, or a fault: what is missing is follow's business.
func (r *run) send(ctx context.Context, m *a2a.Message) error {
	began := time.Now()
	for n := 0; ; n++ {
		err := r.redial(ctx)
		if err == nil {
			before := r.doubt
			r.doubt = true
			if err = r.sendOnce(ctx, m); later(err) {
				r.doubt = before
			}
		}
		var own *fault
		switch {
		case err == nil || errors.As(err, &own):
			return err
		case r.heard:
			r.log.Debug("the agent's stream ended", "error", err)
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.yield(m, err):
			r.doubt = false
			continue
		case maybeTaken(err) && (r.c == nil || r.c.Repeats() <= time.Since(began)), !maybeTaken(err) && !later(err):
			return err
		}
		if err := r.pause(ctx, n, err); err != nil {
			return err
		}
	}
}

// yield gives up what the agent may have refused a message for, though it is not the
// message's: a context that we made up, and a webhook.
func (r *run) yield(m *a2a.Message, err error) bool {
	e := said(err)
	if e == nil || !e.Peer || r.task != "" {
		return false
	}
	switch e.Code {
	case a2a.CodeInvalidParams, a2a.CodeInvalidRequest, a2a.CodeTaskNotFound, a2a.CodeUnsupportedOperation,
		a2a.CodePushNotificationNotSupported:
	default:
		return false // somebody may have begun to work
	}
	switch {
	case r.a.hooks != nil && !r.pushless:
		r.pushless = true
	case r.invented && m.ContextID != "":
		m.ContextID, r.context = "", ""
	default:
		return false
	}
	r.log.Info("the agent refused a message, which is tried without what it need not have", "error", err)
	return true
}

func (r *run) sendOnce(ctx context.Context, m *a2a.Message) error {
	r.heard, r.spoke = false, false
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
	if err := r.take(lasting, &a2a.StreamResponse{Task: res.Task, Message: res.Message}); err != nil {
		return &fault{err}
	}
	return nil
}

// grace is how long the first answer of the agent is waited for when the server
// stops, and cancelWait when the task is cancelled: it says which task it is.
var (
	grace      = 5 * time.Second
	cancelWait = time.Second
)

// linger returns a context that outlives ctx until the agent's task is known, but
// not by much: else nobody knows whether the message was taken.
func linger(ctx context.Context, known <-chan struct{}) (context.Context, func()) {
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		d := grace
		if context.Cause(ctx) != agent.ErrDraining {
			d = cancelWait
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
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

// find looks for what became of a message that an earlier run may have sent.
func (r *run) find(ctx context.Context, m *a2a.Message) (found bool, err error) {
	for n := 0; ; n++ {
		if err = r.redial(ctx); err == nil {
			found, err = r.findOnce(ctx, m)
		}
		var own *fault
		if err == nil || errors.As(err, &own) || !later(err) && !maybeTaken(err) {
			return found, err
		}
		if err := r.pause(ctx, n, err); err != nil {
			return false, err
		}
	}
}

func (r *run) findOnce(ctx context.Context, m *a2a.Message) (bool, error) {
	age := time.Since(r.t.Task().Status.Timestamp)
	if r.c.Repeats() > age {
		return false, nil // it is sent again, and done once
	}
	if r.c.Version() == "0.1" {
		task, err := r.c.GetTask(ctx, &a2a.GetTaskRequest{ID: r.chosen(m)})
		if errors.Is(err, a2a.ErrTaskNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, r.took(ctx, task)
	}
	if m.ContextID != "" && r.c.Version() >= "1.0" {
		res, err := r.c.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: m.ContextID, HistoryLength: new(int32(historyLength))})
		if err != nil && (later(err) || maybeTaken(err)) {
			return false, err
		}
		if err == nil {
			for _, task := range res.Tasks {
				if task != nil && took(task, m.MessageID) {
					if task, err = r.c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: new(int32(historyLength))}); err != nil {
						return false, err
					}
					return true, r.took(ctx, task)
				}
			}
		}
	}
	return false, &fault{agent.Public("the server was interrupted before the agent behind it said that it had taken the message; "+
		"it was not sent again, because it might be done twice", nil)}
}

func (r *run) took(ctx context.Context, task *a2a.Task) error {
	if err := r.take(ctx, &a2a.StreamResponse{Task: task}); err != nil {
		return &fault{err}
	}
	return nil
}
