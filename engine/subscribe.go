package engine

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// SubscribeToTask implements a2a.Service (specification §3.1.6). With a cursor, a finished task
// can be subscribed to as well: the stream delivers the rest.
func (s *service) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		e := s.e
		a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksRead, a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll)
		if err == nil {
			err = a.role.gate.stream()
		}
		if err == nil {
			err = req.Validate()
		}
		var key store.Key
		if err == nil {
			key, err = e.visible(ctx, a, req.ID)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		t := e.topics.Join(key)
		defer e.topics.Leave(t)
		task, cursor, err := e.topics.Attach(ctx, t, req)
		if err != nil {
			yield(nil, err)
			return
		}
		var entries *int32
		if req.Timeline {
			entries = new(int32(a2a.MaxTimeline))
		}
		first, err := e.timeline(ctx, key, task, cursor, entries)
		if err != nil {
			yield(nil, err)
			return
		}
		over := task.Status.State.Terminal()
		if !yield(&a2a.StreamResponse{Task: first, Seq: cursor, More: over || t.Beyond(cursor)}, nil) || over {
			return
		}
		e.topics.Follow(ctx, t, topic.Position{Seq: cursor, Generation: task.Generation, Messages: req.Timeline}, topic.IsEnd, yield)
	}
}
