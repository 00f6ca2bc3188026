package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// peek returns a task without meeting its readers: from the cache, or from the
// store as it is now. It is nil if somebody here reads or owns the task, who may
// know more of it, or less that everybody else was told.
func (e *Engine) peek(ctx context.Context, key store.Key, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return e.read.Peek(ctx, key, req, func() bool { return e.meets(key) })
}

// meets reports whether somebody here reads or owns a task.
func (e *Engine) meets(k store.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.topics[k] != nil
}
