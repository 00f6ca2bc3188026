package topic

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// Follow yields a task's events after a position until end accepts one. It returns true if it
// got there. It returns false if an error was yielded (the context's if that ended), the reader
// left, or the engine drains (the stream just ends, to be resumed).
func (ts *Topics) Follow(ctx context.Context, t *Topic, from Position, end func(*a2a.StreamResponse) bool, yield func(*a2a.StreamResponse, error) bool) bool {
	generation := from.Generation
	for entries, err := range ts.batches(ctx, t, from.Seq) {
		if err != nil {
			yield(nil, err)
			return false
		}
		for i, en := range entries {
			generation = en.NextGeneration(generation)
			message := from.Messages && en.Kind == a2a.EntryMessage
			if !en.Shows() && !message {
				continue
			}
			if en.apart {
				if err := ts.complete(ctx, t, en.Entry); err != nil {
					if !ts.stopping() {
						yield(nil, err)
					}
					return false
				}
				entries[i].Entry = &a2a.Entry{} // the content is released once the stream is done with it
			}
			ev := en.event
			if message {
				if ev = en.MessageEvent(generation); ev == nil {
					continue
				}
			}
			if ev == nil {
				ev = stamped(en.Event(), generation)
			}
			if !ev.More && (end(ev) || showsOne(entries[i+1:])) {
				c := *ev
				c.More = true
				ev = &c
			}
			if !yield(ev, nil) {
				return false
			}
			if end(ev) { // asked again, because yield may change the answer
				return true
			}
		}
		if ts.stopping() {
			return false
		}
	}
	return false
}

// IsEnd reports whether the task ended with an event.
func IsEnd(ev *a2a.StreamResponse) bool { return ev.State().Terminal() }

// batches yields the entries after a cursor, as many at a time as there are, and an empty batch
// before it waits for more. It ends if the readers are sent away; they may come again if the
// task still exists.
func (ts *Topics) batches(ctx context.Context, t *Topic, cursor int64) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		for {
			entries, known, changed := t.after(cursor)
			heard := known // changed tells of more; otherwise the store has to be asked from time to time
			if !known {
				some, told, err := ts.others.entries(ctx, t, cursor)
				if err != nil {
					yield(nil, err)
					return
				}
				if t.look().detached {
					return
				}
				if entries = some; told != nil {
					changed, heard = told, true
				}
			}
			n := len(entries)
			if n > 0 {
				cursor = entries[n-1].Seq
			}
			if !yield(entries, nil) {
				return
			}
			budget.From(ctx).Set(0) // what was read has been passed on
			if n > 0 {
				continue
			}
			var again <-chan time.Time
			if !heard { // hints may be lost
				if err := ts.over(ctx, t); err != nil {
					yield(nil, err)
					return
				}
				again = time.After(poll)
			}
			select {
			case <-changed: // also when the engine drains: see WakeAll
			case <-again:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

// Position is where a reader of a task's events is.
type Position struct {
	Seq        int64 // of the last entry that it has read
	Generation int64 // of the task at that entry
	Messages   bool  // it reads the messages of clients, too (1.1 draft)
}

// over returns why nothing more comes of a task without an owner here, or nil.
func (ts *Topics) over(ctx context.Context, t *Topic) error {
	if ts.read.Deleted(ctx, t.Key) {
		return stored.NotFound(t.Key.ID)
	}
	return t.look().lost
}

// Log yields the entries after a position, as many at a time as there are. With follow it goes
// on with new entries as they are committed, until the task has ended. over says whether the
// task had ended when Log was called.
func (ts *Topics) Log(ctx context.Context, t *Topic, after int64, follow, over bool, yield func([]*a2a.Entry, error) bool) {
	for entries, err := range ts.batches(ctx, t, after) {
		switch {
		case err != nil:
			yield(nil, err)
			return
		case len(entries) > 0:
			batch := make([]*a2a.Entry, len(entries))
			for i, en := range entries {
				batch[i] = en.Entry
				if en.Kind == a2a.EntryStatus {
					over = en.Status.Status.State.Terminal()
				}
			}
			if !yield(batch, nil) {
				return
			}
		case over || !follow || ts.stopping():
			return
		}
	}
}

// StoredLog yields the entries after a position as they are stored, and then new ones as they
// are committed, until the task has ended.
func (ts *Topics) StoredLog(ctx context.Context, key store.Key, after int64, yield func(store.Entry, error) bool) {
	t := ts.Join(key)
	defer ts.Leave(t)
	for {
		changed := t.watch().changed // before reading, so that no entry is missed
		rec, err := ts.store.Get(ctx, key, store.RowOnly)
		if err != nil {
			yield(store.Entry{}, ts.read.Unread(ctx, err, key))
			return
		}
		for en, err := range store.EachEntry(ctx, ts.store, key, after, rec.Last) {
			if err != nil {
				yield(en, stored.Failed(err, "read task "+key.ID))
				return
			}
			after = en.Seq
			if !yield(en, nil) {
				return
			}
		}
		if a2a.TaskState(rec.State).Terminal() || ts.stopping() {
			return
		}
		select {
		case <-changed:
		case <-time.After(ts.others.every()):
		case <-ts.draining:
		case <-ctx.Done():
			yield(store.Entry{}, context.Cause(ctx))
			return
		}
	}
}

// showsOne reports whether there is an event among entries.
func showsOne(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(en Entry) bool { return en.Shows() })
}

// stamped returns an event with its generation, which logs of earlier releases do not have.
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

// behind reads the next entries after a cursor from the store, for one reader that the tail in
// memory does not serve. Content that is stored apart from them is left for complete, so that
// the reader holds that of one entry at a time.
func (ts *Topics) behind(ctx context.Context, key store.Key, cursor int64) ([]Entry, error) {
	const page = 512
	raw, err := ts.store.Entries(ctx, key, cursor, page)
	if err != nil {
		return nil, ts.read.Unread(ctx, err, key)
	}
	out := make([]Entry, len(raw))
	for i := range raw {
		en, err := stored.Decode(&raw[i])
		if err != nil {
			return nil, ts.read.Unread(ctx, err, key)
		}
		out[i] = Entry{Entry: en, apart: stored.Apart(en)}
	}
	return out, nil
}

// complete reads the content of an entry returned by behind that is stored apart from it.
func (ts *Topics) complete(ctx context.Context, t *Topic, en *a2a.Entry) error {
	return ts.Lasting(ctx, func() error {
		if err := ts.read.RestoreEntry(ctx, en); err != nil {
			return ts.read.Unread(ctx, err, t.Key)
		}
		return nil
	})
}
