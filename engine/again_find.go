package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// find looks up the outcome of a message that was accepted before; found is false if the
// message is new. The caller must call d's leave.
func (e *Engine) find(ctx context.Context, req *a2a.SendMessageRequest, id *again.Identity, stream bool) (d accepted, found bool, _ error) {
	r, err := id.Find(ctx, e.store, e.Now())
	if err != nil && !errors.Is(err, a2a.ErrConflict) {
		err = stored.Failed(err, "look for an earlier message")
	}
	if r == nil || err != nil {
		return accepted{}, false, err
	}
	if r.TaskID == "" {
		m := &a2a.Message{}
		if err := m.UnmarshalJSON(r.Answer); err != nil {
			return accepted{}, false, fmt.Errorf("read the answer that was kept: %v", err)
		}
		d, err = e.answered(m, req, stream)
		return d, true, err
	}
	key := id.Scope
	key.ID = r.TaskID
	return e.acceptedAt(ctx, key, req, r.Seq)
}

// acceptedAt is find for a message in the log of a task: at seq, or just before an entry at seq
// that came with it.
func (e *Engine) acceptedAt(ctx context.Context, key store.Key, req *a2a.SendMessageRequest, seq int64) (d accepted, found bool, _ error) {
	d = accepted{topic: e.topics.Join(key), seq: seq, again: true}
	defer func() {
		if !found {
			e.topics.Leave(d.topic)
		}
	}()
	if d.post = e.owners.Posted(key, seq); d.post != nil {
		return d, true, nil
	}
	d.post = &task.Post{Message: req.Message}
	rec, err := e.store.Get(ctx, key, store.RowOnly)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return d, false, nil // deleted since, and the receipt with it
	case err != nil:
		return d, false, stored.Failed(err, "read task "+key.ID)
	}
	if req.Legacy != nil && req.Legacy.Reopen {
		d.post.Reopen = true
		over, err := e.overBefore(ctx, rec, seq)
		if err != nil {
			return d, false, err
		}
		d.post.Over.Store(over)
	}
	return d, true, nil
}

// answered returns the outcome of a message that was answered without a task. A stream of it is
// one element, so there is never a rest to resume.
func (e *Engine) answered(reply *a2a.Message, req *a2a.SendMessageRequest, stream bool) (accepted, error) {
	if stream && req.After != 0 {
		return accepted{}, a2a.Invalid("Last-Event-ID", "is not an event of this message's stream; leave it out")
	}
	return accepted{post: &task.Post{Reply: reply}, again: true}, nil
}
