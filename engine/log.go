package engine

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/a2a"
)

// Log yields the entries of a task's log after a position, in batches, to a caller that may
// read the task. It ends at the log's end or, with follow, continues with what is committed
// until the task ends, ctx ends (the last error is its cause) or the engine drains. Content
// that is stored apart from the log is referred to.
func (e *Engine) Log(ctx context.Context, agent, id string, after int64, follow bool) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		s := &service{e, agent, TenantOf(agent, "")}
		a, err := s.enter(ctx, "", a2a.ScopeTasksRead, a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll)
		if err != nil {
			yield(nil, err)
			return
		}
		key, err := e.visible(ctx, a, id)
		if err != nil {
			yield(nil, err)
			return
		}
		t := e.topics.Join(key)
		defer e.topics.Leave(t)
		row, err := e.topics.Standing(ctx, t)
		if err != nil {
			yield(nil, err)
			return
		}
		e.topics.Log(ctx, t, after, follow, a2a.TaskState(row.State).Terminal(), yield)
	}
}
