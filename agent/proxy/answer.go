package proxy

import (
	"context"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// answer passes an answer on to the agent's question.
func (r *run) answer(ctx context.Context, answer *a2a.Message, secret bool) error {
	m := r.outgoing(answer)
	rec := record{Message: m.MessageID, Question: r.asked, Secret: secret}
	if asked := r.status.Message; asked != nil {
		rec.Asked = asked.MessageID
	}
	if err := r.note(ctx, rec); err != nil {
		return &fault{err}
	}
	// Record it before sending it: a run after a crash must know of it.
	if err := r.t.Sync(ctx); err != nil {
		return &fault{err}
	}
	return r.deliver(ctx, m)
}

// deliver sends an answer. If it is unknown whether the agent took it, the agent's task
// tells, or the caller is asked once more: the answer is never sent again silently.
func (r *run) deliver(ctx context.Context, m *a2a.Message) error {
	err := r.send(ctx, m)
	if s := &r.status; err == nil && s.Timestamp.IsZero() && (s.Message == nil || s.Message.MessageID == "") {
		r.asked = "" // the next question may look the same as this one
	}
	v := judge(err)
	switch {
	case v == lost:
		r.log.Info("it is not known whether the agent accepted an answer", "error", err)
	case v == fine && r.spoke:
	case v == refused:
		r.log.Info("the agent refused an answer", "error", err)
	default:
		return err
	}
	task, why := r.get(ctx)
	switch {
	case why != nil:
		return why
	case question(&task.Status) != r.asked || v == lost && took(task, m.MessageID):
		return nil // it has gone on, is about to, or had ended
	case v == refused:
		if err := r.t.Status(reason(err, true)); err != nil {
			return &fault{err}
		}
	}
	r.asked = ""
	return nil
}

// regain continues after a run that stopped when it was about to send an answer.
func (r *run) regain(ctx context.Context, last *record) error {
	task, err := r.get(ctx)
	if err != nil {
		return err
	}
	switch {
	case took(task, last.Message), !task.Status.State.Interrupted(), question(&task.Status) != last.Question:
		return nil
	case last.answer != nil && (r.c.Repeats() > 0 || slices.ContainsFunc(task.History, fromUser)):
		// The agent keeps the messages that it got, and this one is not among them.
		m := r.outgoing(last.answer)
		return r.deliver(ctx, m)
	}
	r.asked = "" // ask the caller once more
	return nil
}

func fromUser(m *a2a.Message) bool { return m != nil && m.Role == a2a.RoleUser }

// took reports whether a task has a message.
func took(t *a2a.Task, messageID string) bool {
	return slices.ContainsFunc(t.History, func(m *a2a.Message) bool { return m != nil && m.MessageID == messageID })
}
