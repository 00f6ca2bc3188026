package store

import (
	"context"
	"time"
)

// Peers is what processes that share a Store need to work together, beyond what they
// keep: one clock, mail, and hints. Nothing of it outlives a crash.
type Peers interface {
	// Now returns the time by a clock that all processes that share the store
	// agree on, with its finer digits. For a store that is one machine's it is that
	// machine's.
	Now(ctx context.Context) (time.Time, error)

	// Post puts mail into the boxes of nodes. It need not outlive a crash: a sender
	// that waits for an answer has to look whether the other node still lives.
	Post(ctx context.Context, all []Mail) error

	// Mail takes up to limit pieces of mail out of a node's box, in the order in which
	// each sender posted them; what one of several takers gives back, because it failed,
	// may come later. A piece is returned once at most. Those that nobody takes are
	// dropped after about MailKept.
	Mail(ctx context.Context, node string, limit int) ([]Mail, error)

	// Watch calls f, never twice at a time, when other processes changed something, until
	// ctx ends or the store is closed, and returns why. It may also be called for what
	// this process changed. f must not block. Hints may be late, doubled or lost: beneath
	// them callers look from time to time. The start of a task needs no hint unless the
	// task waits for a process: nobody watches a task that does not exist. A store that
	// no other process can change has none.
	Watch(ctx context.Context, f func(Hint)) error
}

// Now implements Store.
func (m *Memory) Now(ctx context.Context) (time.Time, error) {
	err := m.read(ctx, func(*memory) error { return nil })
	return time.Now(), err
}

// Post implements Store.
func (m *Memory) Post(ctx context.Context, all []Mail) error {
	if err := m.read(ctx, func(*memory) error { return nil }); err != nil {
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
	if err := m.read(ctx, func(*memory) error { return nil }); err != nil {
		return nil, err
	}
	return m.data.mail.Take(ctx, node, limit)
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, f func(Hint)) error {
	if err := m.read(ctx, func(*memory) error { return nil }); err != nil {
		return err
	}
	return m.hub.Watch(ctx, m.over, f)
}

// tell tells watchers what appends have changed.
func (m *Memory) tell(appends []*Append, errs []error) {
	var hints []Hint
	for i, a := range appends {
		if errs[i] == nil && a.Row.ID != "" {
			hints = append(hints, Hint{Task: a.Row.Hash(), Work: a.Row.Active && a.Row.Node == ""})
		}
	}
	m.hub.Tell(hints...)
}
