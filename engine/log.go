package engine

import (
	"context"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
)

// Log yields the entries of a task's log behind a position to a caller who may read
// the task, as many at a time as there are. It ends at the log's end or, with follow,
// goes on with what is committed until the task has ended, ctx does, which is the last
// error, or the engine drains. Content that is stored apart from the log is referred to.
func (e *Engine) Log(ctx context.Context, agent, id string, after int64, follow bool) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		s := &service{e, agent, prefix(agent)}
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
		t := e.join(key)
		defer e.leave(t)
		row, err := e.standing(ctx, t)
		if err != nil {
			yield(nil, err)
			return
		}
		over := a2a.TaskState(row.State).Terminal()
		for {
			entries, known, changed := t.after(after)
			if !known {
				if t.contested() {
					entries, changed, err = e.remoteEntries(ctx, t, after)
					known = true
				} else {
					entries, err = e.storedEntries(ctx, t, after)
				}
				if err != nil {
					yield(nil, err)
					return
				}
			}
			if len(entries) > 0 {
				batch := make([]*a2a.Entry, len(entries))
				for i, en := range entries {
					batch[i], after = en.Entry, en.Seq
					if en.Kind == a2a.EntryStatus {
						over = en.Status.Status.State.Terminal()
					}
				}
				if !yield(batch, nil) {
					return
				}
				continue
			}
			if over || !follow || e.stopping() {
				return
			}
			if err := t.failure(); err != nil && !known {
				yield(nil, err)
				return
			}
			if !known && e.read.Deleted(ctx, key) {
				yield(nil, stored.NotFound(id))
				return
			}
			again := time.NewTimer(poll) // hints may be lost
			select {
			case <-changed: // also when the engine drains
			case <-again.C:
			case <-ctx.Done():
				again.Stop()
				yield(nil, context.Cause(ctx))
				return
			}
			again.Stop()
		}
	}
}
