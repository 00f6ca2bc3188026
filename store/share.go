package store

import (
	"context"
	"time"
)

// Peers is what processes that share a Store need to work together, besides the stored data:
// one clock, messages, and hints. None of it survives a crash.
type Peers interface {
	// Now returns the time of a clock that all processes that share the store agree on, at
	// full precision. If only one machine uses the store, it is that machine's clock.
	Now(ctx context.Context) (time.Time, error)

	// Post queues messages for nodes. Messages may be lost in a crash: a sender that waits
	// for an answer must check whether the other node is still alive.
	Post(ctx context.Context, all []Mail) error

	// Mail removes up to limit messages for node from the store and returns them, in the
	// order in which each sender posted them. Messages that a failed call put back may come
	// later. A message is returned at most once. Messages that no call takes are dropped
	// after about MailKept.
	Mail(ctx context.Context, node string, limit int) ([]Mail, error)

	// Watch calls f when other processes changed something, until ctx ends or the store is
	// closed, and returns why. Calls of f never overlap, and f must not block. Watch may also
	// call f for changes by this process. Hints may be late, repeated or lost, so callers
	// also poll. The start of a task needs no hint unless the task waits for a process,
	// because no caller watches a task that does not exist. A store that only one
	// process uses need not send any.
	Watch(ctx context.Context, f func(Hint)) error
}

// Now implements Store.
func (m *Memory) Now(ctx context.Context) (time.Time, error) {
	return time.Now(), m.usable(ctx)
}

// Post implements Store.
func (m *Memory) Post(ctx context.Context, all []Mail) error {
	if err := m.usable(ctx); err != nil {
		return err
	}
	if err := m.data.mail.Post(ctx, all); err != nil {
		return err
	}
	for _, l := range all {
		m.hub.Tell(Hint{Node: l.Node})
	}
	return nil
}

// Mail implements Store.
func (m *Memory) Mail(ctx context.Context, node string, limit int) ([]Mail, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.data.mail.Take(ctx, node, limit)
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, f func(Hint)) error {
	if err := m.usable(ctx); err != nil {
		return err
	}
	return m.hub.Watch(ctx, m.over, f)
}

// tell sends watchers the hints of successful appends.
func (m *Memory) tell(appends []*Append, errs []error) {
	var hints []Hint
	for i, a := range appends {
		if errs[i] == nil && a.Row.ID != "" {
			hints = append(hints, Hint{Task: a.Row.Hash(), Work: a.Row.Active && a.Row.Node == ""})
		}
	}
	m.hub.Tell(hints...)
}
