package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// load returns a task as committed, and the seq up to which it is folded.
func (e *Engine) load(ctx context.Context, key store.Key) (*a2a.Task, int64, error) {
	t := e.join(key)
	defer e.leave(t)
	return e.loadAt(ctx, t)
}

// held is loadAt for a task whose owner is here. If the store has to be asked the task
// is nil.
func (e *Engine) held(ctx context.Context, t *topic) (*a2a.Task, int64, error) {
	// Where others may go on with the task, who asks may have heard from one of them
	// what is committed and not published here yet.
	task, last := t.newest()
	if task == nil {
		return nil, 0, nil
	}
	ok, err := e.trusted(ctx, t)
	switch {
	case err != nil:
		return nil, 0, err
	case ok && last == 0:
		return nil, 0, errNotFound(t.key.ID) // nothing committed: it does not exist yet
	case ok:
		return task, last, nil
	}
	return nil, 0, nil
}

func (e *Engine) loadAt(ctx context.Context, t *topic) (*a2a.Task, int64, error) {
	if task, last, err := e.held(ctx, t); task != nil || err != nil {
		return task, last, err
	}
	rec, err := e.whole(ctx, t.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, errNotFound(t.key.ID)
	}
	if err != nil {
		return nil, 0, failed(err, "read task "+t.key.ID)
	}
	task, err := e.task(ctx, rec, true)
	if known, last := t.snapshot(); known != nil && last > 0 && last < rec.Last && !t.contested() {
		// The task got an owner here meanwhile, and its newest commit is not
		// published yet: who looks next must not see less than who looks now.
		return known, last, nil
	}
	return task, rec.Last, err
}

// standing returns what a message has to know of its task before the task's owner
// sees it: context, state and the last entry. The log may be long, and is not read.
func (e *Engine) standing(ctx context.Context, t *topic) (store.Row, error) {
	switch task, last, err := e.held(ctx, t); {
	case err != nil:
		return store.Row{}, err
	case task != nil:
		return store.Row{Context: task.ContextID, State: int32(task.Status.State), Last: last}, nil
	}
	rec, err := e.store.Get(ctx, t.key, store.RowOnly)
	if err != nil {
		return store.Row{}, e.unread(ctx, err, t.key)
	}
	return rec.Row, nil
}

// task makes the Task of a record, from its seal if it has one, else by
// folding its log up to rec.Last.
func (e *Engine) task(ctx context.Context, rec *store.Record, artifacts bool) (*a2a.Task, error) {
	if rec.Seal != nil {
		task, err := unseal(rec.Seal, artifacts)
		if err == nil {
			err = e.restoreTask(ctx, task)
		}
		if errors.Is(err, errIncomplete) {
			return nil, e.unread(ctx, err, rec.Key)
		}
		if err != nil {
			return nil, fmt.Errorf("read sealed task %s: %w", rec.ID, err)
		}
		if task.Generation == 0 { // sealed by a release that did not count
			if task.Generation, err = e.count(ctx, rec); err != nil {
				return nil, err
			}
		}
		return task, nil
	}
	task, err := e.foldTo(ctx, rec.Key, rec.Last)
	if err != nil {
		return nil, err
	}
	if !artifacts {
		task.Artifacts = nil
	}
	return task, nil
}

// count returns the generation of a task from its log.
func (e *Engine) count(ctx context.Context, rec *store.Record) (int64, error) {
	n := int64(1)
	for raw, err := range store.EachEntry(ctx, e.store, rec.Key, 0, rec.Last) {
		if err != nil {
			return 0, failed(err, "read task "+rec.ID)
		}
		switch a2a.EntryKind(raw.Kind) {
		case a2a.EntryStatus, a2a.EntryArtifact:
			n++
		}
	}
	return n, nil
}

// foldTo returns the task as of an entry of its log. It holds the task and a page
// of the log.
func (e *Engine) foldTo(ctx context.Context, key store.Key, seq int64) (*a2a.Task, error) {
	n := int64(0)
	var unread error
	// Fold refuses a log with a gap, rather than show half a task.
	task, err := a2a.Fold(func(yield func(*a2a.Entry, error) bool) {
		for en, err := range e.entries(ctx, key, 0, seq, blobs{}) {
			if err == nil {
				n++
			}
			if unread = err; !yield(en, err) {
				return
			}
		}
	})
	if unread == nil && n < seq && (err == nil || n == 0) {
		unread = errIncomplete
	}
	switch {
	case unread != nil:
		return nil, e.unread(ctx, unread, key)
	case err != nil:
		return nil, failed(err, "read task "+key.ID)
	}
	return task, nil
}

// entries yields the log from behind after up to last, or to its end if that comes
// first. Content that is stored apart is read with the entry that refers to it, and
// kept in shared, unless that is nil. It ends after the first error.
func (e *Engine) entries(ctx context.Context, key store.Key, after, last int64, shared blobs) iter.Seq2[*a2a.Entry, error] {
	return func(yield func(*a2a.Entry, error) bool) {
		for raw, err := range store.EachEntry(ctx, e.store, key, after, last) {
			var en *a2a.Entry
			if err == nil {
				en, err = e.entry(ctx, &raw, shared)
			}
			if !yield(en, err) || err != nil {
				return
			}
		}
	}
}

// entry decodes an entry and reads the content that is stored apart from it.
func (e *Engine) entry(ctx context.Context, raw *store.Entry, shared blobs) (*a2a.Entry, error) {
	en, err := a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
	if err == nil {
		err = e.restoreEntry(ctx, en, shared)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", raw.Seq, err)
	}
	return en, nil
}

// maxSeal is the most a sealed task may take, in bytes: more would be refused
// by the store, and the task could never end. Such a task is folded when it is
// read.
const maxSeal = 64 << 20

// seal is a finished task in the form in which it is stored once: what lists
// show, and the artifacts apart. It is nil if that is too large. The blobs are
// in the store already, or come with the entries of the same append.
func seal(task *a2a.Task) *store.Seal {
	var stored []store.Blob
	blobs := &stored
	head := *task
	head.Artifacts = nil
	head.Status.Message = spillMessage(task.Status.Message, blobs)
	head.History = spillAll(task.History, blobs, spillMessage)
	headSize := 512
	for _, m := range head.History {
		headSize += 192 + sizeOf(m.Parts)
	}
	if m := head.Status.Message; m != nil {
		headSize += 192 + sizeOf(m.Parts)
	}
	var spilled a2a.Spilled
	if len(stored) > 0 {
		spilled = a2a.SpilledHead
	}
	inHead := len(stored)
	body := a2a.Task{Artifacts: spillAll(task.Artifacts, blobs, spillArtifact)}
	size := 256
	for _, a := range body.Artifacts {
		size += 256 + sizeOf(a.Parts)
	}
	if size > maxSeal {
		return nil
	}
	if len(stored) > inHead {
		spilled |= a2a.SpilledBody
	}
	s := &store.Seal{Head: head.AppendStored(make([]byte, 0, headSize), spilled), Body: body.AppendStoredBody(make([]byte, 0, size))}
	if len(s.Head)+len(s.Body) > maxSeal {
		return nil
	}
	return s
}

func unseal(s *store.Seal, artifacts bool) (*a2a.Task, error) {
	task := &a2a.Task{}
	if err := task.DecodeStored(s.Head); err != nil {
		return nil, err
	}
	if artifacts {
		if err := task.DecodeStoredBody(s.Body); err != nil {
			return nil, err
		}
	}
	return task, nil
}

// siblings yields an owner's other tasks of a context, newest first.
func (e *Engine) siblings(ctx context.Context, self store.Key, contextID string) iter.Seq2[*a2a.Task, error] {
	return func(yield func(*a2a.Task, error) bool) {
		q := store.Query{Tenant: self.Tenant, Owner: self.Owner, Context: contextID, Limit: 20, Body: true, MaxBytes: pageBytes}
		for {
			var page *store.Page
			err := e.lasting(ctx, func() (err error) {
				page, err = e.store.List(ctx, q)
				return err
			})
			if err != nil {
				yield(nil, failed(err, "list context"))
				return
			}
			for i := range page.Records {
				rec := &page.Records[i]
				q.Before = &store.Position{Updated: rec.Updated, ID: rec.ID}
				if rec.ID == self.ID {
					continue
				}
				var task *a2a.Task
				err := e.lasting(ctx, func() (err error) {
					task, err = e.listedWhole(ctx, rec, true)
					return err
				})
				if errors.Is(err, a2a.ErrTaskNotFound) {
					continue // deleted since
				}
				if !yield(task, err) || err != nil {
					return
				}
			}
			if !page.More {
				return
			}
		}
	}
}
