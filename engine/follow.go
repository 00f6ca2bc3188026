package engine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// poll is how often a reader asks the store for a task that nobody owns in
// this process, in case a hint never came.
const poll = 5 * time.Second

// follow yields a task's events behind a cursor until end says that a state is
// the last. It returns true if it got there, false if the reader left, the
// context ended (its error was yielded), or the engine drains (the stream ends
// without a word, to be resumed). generation is the task's at the cursor.
func (e *Engine) follow(ctx context.Context, t *topic, cursor, generation int64, end func(a2a.TaskState) bool, yield func(*a2a.StreamResponse, error) bool) bool {
	var timer *time.Timer
	for {
		entries, known, changed := t.after(cursor)
		if !known {
			var err error
			switch {
			case t.contested():
				entries, changed, err = e.remoteEntries(ctx, t, cursor)
				known = true
			default:
				entries, err = e.storedEntries(ctx, t, cursor)
			}
			if err != nil {
				yield(nil, err)
				return false
			}
			if t.isDetached() {
				return false // to subscribe again, if the task is still there
			}
		}
		for i, en := range entries {
			cursor = en.Seq
			if !en.Shows() {
				continue
			}
			if en.apart {
				if err := e.complete(ctx, t, en.Entry); err != nil {
					if !e.stopping() {
						yield(nil, err)
					}
					return false
				}
				entries[i].Entry = &a2a.Entry{} // the stream has it now, and nobody else
			}
			generation++
			ev := en.event
			if ev == nil {
				ev = stamped(en.Event(), generation)
			}
			s := ev.State()
			if !ev.More && (s.Valid() && end(s) || showsOne(entries[i+1:])) {
				c := *ev
				c.More = true
				ev = &c
			}
			if !yield(ev, nil) {
				return false
			}
			if s.Valid() && end(s) { // yield may have a say in it
				return true
			}
		}
		if e.stopping() {
			return false
		}
		budget.From(ctx).Set(0) // what was read is on its way
		if len(entries) > 0 {
			continue
		}
		var again <-chan time.Time
		if !known {
			err := t.failure()
			if e.read.Deleted(ctx, t.key) {
				err = stored.NotFound(t.key.ID)
			}
			if err != nil {
				yield(nil, err)
				return false
			}
			if timer == nil {
				timer = time.NewTimer(poll)
				defer timer.Stop()
			} else {
				timer.Reset(poll)
			}
			again = timer.C
		}
		select {
		case <-changed: // also when the engine drains: see wakeAll
		case <-again:
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return false
		}
	}
}

// storedEntries returns the entries behind a cursor from the store.
func (e *Engine) storedEntries(ctx context.Context, t *topic, cursor int64) ([]sized, error) {
	if err := e.read.MakeRoomFor(ctx, t.key); err != nil {
		return nil, err
	}
	entries, err := e.behind(ctx, t.key, cursor)
	return t.published(entries), err
}

// showsOne reports whether there is an event among entries.
func showsOne(entries []sized) bool {
	for _, en := range entries {
		if en.Shows() {
			return true
		}
	}
	return false
}

// stamped returns an event with its generation, which logs of earlier releases
// do not have.
func stamped(ev *a2a.StreamResponse, generation int64) *a2a.StreamResponse {
	switch {
	case ev.StatusUpdate != nil && ev.StatusUpdate.Generation == 0:
		u := *ev.StatusUpdate
		u.Generation = generation
		return &a2a.StreamResponse{StatusUpdate: &u, Seq: ev.Seq}
	case ev.ArtifactUpdate != nil && ev.ArtifactUpdate.Generation == 0:
		u := *ev.ArtifactUpdate
		u.Generation = generation
		return &a2a.StreamResponse{ArtifactUpdate: &u, Seq: ev.Seq}
	}
	return ev
}

// behind reads the next entries behind a cursor from the store, for one reader
// that the tail in memory does not serve. Content that is stored apart from them is
// left for complete, so that the reader holds that of one entry.
func (e *Engine) behind(ctx context.Context, key store.Key, cursor int64) ([]sized, error) {
	const page = 512
	raw, err := e.store.Entries(ctx, key, cursor, page)
	if err != nil {
		return nil, e.read.Unread(ctx, err, key)
	}
	out := make([]sized, len(raw))
	for i := range raw {
		r := &raw[i]
		en, err := a2a.DecodeEntry(r.Seq, r.Time, a2a.EntryKind(r.Kind), r.Body)
		if err != nil {
			return nil, e.read.Unread(ctx, fmt.Errorf("entry %d: %w", r.Seq, err), key)
		}
		out[i] = sized{Entry: en, apart: stored.Apart(en)}
	}
	return out, nil
}

// complete reads the content of an entry from behind that is stored apart from it.
func (e *Engine) complete(ctx context.Context, t *topic, en *a2a.Entry) error {
	return e.lasting(ctx, func() error {
		if err := e.read.RestoreEntry(ctx, en, nil); err != nil {
			return e.read.Unread(ctx, fmt.Errorf("entry %d: %w", en.Seq, err), t.key)
		}
		return nil
	})
}

// await waits until the task is in a state that end accepts, as committed, or
// has ended behind the seq after, though it may be reopened by now; ended is
// where, if it has ended. end must accept terminal states.
func (e *Engine) await(ctx context.Context, t *topic, after int64, end func(a2a.TaskState) bool) (ended int64, _ error) {
	var timer *time.Timer
	for {
		g := t.watch() // before stopping: see wakeAll
		if e.stopping() {
			return 0, stored.Stopping()
		}
		if g.ended > after {
			return e.firstEnd(ctx, t, after, g.ended, nil)
		}
		var row *store.Row
		var again <-chan time.Time
		if !g.known {
			var err error
			if row, err = e.rowOf(ctx, t); err != nil {
				return 0, err
			}
			if t.look().known {
				continue // the store may be ahead of what is published
			}
			g.state, g.last = a2a.TaskState(row.State), row.Last
			if timer == nil {
				timer = time.NewTimer(poll)
				defer timer.Stop()
			} else {
				timer.Reset(poll)
			}
			again = timer.C
		}
		if end(g.state) {
			if g.state.Terminal() {
				return e.firstEnd(ctx, t, after, g.last, row)
			}
			return 0, nil
		}
		if err := t.failure(); err != nil && !g.known {
			return 0, err
		}
		select {
		case <-g.changed:
		case <-again:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// firstEnd returns where the task ended first behind after. It ended by ended, but
// may have gone on, and ended again, before anybody looked. row is the task's, if
// the caller has it.
func (e *Engine) firstEnd(ctx context.Context, t *topic, after, ended int64, row *store.Row) (int64, error) {
	if row == nil {
		if end := t.endBehind(after, ended); end > 0 {
			return end, nil
		}
		var err error
		if row, err = e.rowOf(ctx, t); err != nil {
			return 0, err
		}
	}
	if row.Turn <= after {
		return ended, nil
	}
	for en, err := range e.read.Rest(ctx, row, after) {
		if err != nil {
			return 0, err
		}
		if en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal() {
			return en.Seq, nil
		}
	}
	return ended, nil
}

// rowOf returns the row of a task that nobody here owns. What others do to it
// rings the topic's bell, if the store is shared.
func (e *Engine) rowOf(ctx context.Context, t *topic) (*store.Row, error) {
	if t.contested() {
		return e.rowRemote(ctx, t)
	}
	rec, err := e.store.Get(ctx, t.key, store.RowOnly)
	if err != nil {
		return nil, e.read.Unread(ctx, err, t.key)
	}
	return &rec.Row, nil
}

// endedAt returns the task that await waited for: as it ended, even if it has
// been reopened since, or else as it is.
func (e *Engine) endedAt(ctx context.Context, t *topic, ended int64) (*a2a.Task, error) {
	task, last, err := e.loadAt(ctx, t)
	if err == nil && ended > 0 && ended < last {
		if err := e.read.MakeRoomFor(ctx, t.key); err != nil {
			return nil, err
		}
		return e.read.FoldTo(ctx, t.key, ended)
	}
	return task, err
}

// SubscribeToTask implements a2a.Service (specification §3.1.6). A stream with
// a cursor is served on a finished task, too: it has a rest to deliver.
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
		t := e.join(key)
		defer e.leave(t)
		task, cursor, err := e.attach(ctx, t, req)
		if err != nil {
			yield(nil, err)
			return
		}
		over := task.Status.State.Terminal()
		if !yield(&a2a.StreamResponse{Task: task, Seq: cursor, More: over || t.beyond(cursor)}, nil) || over {
			return
		}
		e.follow(ctx, t, cursor, task.Generation, a2a.TaskState.Terminal, yield)
	}
}

// attach returns the task with which a subscription begins, and the seq up to
// which it is folded.
func (e *Engine) attach(ctx context.Context, t *topic, req *a2a.SubscribeToTaskRequest) (*a2a.Task, int64, error) {
	after := req.After
	finishedToo := req.Legacy != nil && req.Legacy.FinishedToo
	task, last, err := e.loadAt(ctx, t)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case after == 0 && task.Status.State.Terminal() && !finishedToo:
		return nil, 0, &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: "the task is finished, there is nothing to subscribe to; use GetTask",
			Meta:    map[string]string{"taskId": t.key.ID},
		}
	case after == 0 || after == last:
		return task, last, nil
	case after < 0 || after > last:
		return nil, 0, a2a.Invalid("Last-Event-ID", "is not an event of this task; leave it out to begin with the task as it stands")
	}
	if err := e.read.MakeRoomFor(ctx, t.key); err != nil {
		return nil, 0, err
	}
	task, err = e.read.FoldTo(ctx, t.key, after)
	return task, after, err
}
