package stored

import (
	"context"
	"fmt"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Log yields the entries of a log up to last, without the content that is stored apart from
// them. If the log ends before last, because the task was deleted, the last error is
// ErrIncomplete. Log ends after the first error.
func (r *Reader) Log(ctx context.Context, key store.Key, last int64) iter.Seq2[*a2a.Entry, error] {
	return func(yield func(*a2a.Entry, error) bool) {
		n := int64(0)
		for raw, err := range store.EachEntry(ctx, r.store, key, 0, last) {
			var en *a2a.Entry
			if err == nil {
				en, err = Decode(&raw)
			}
			if !yield(en, err) || err != nil {
				return
			}
			n++
		}
		if n < last {
			yield(nil, ErrIncomplete)
		}
	}
}

// Entries is Log with the content that is stored apart from the entries.
func (r *Reader) Entries(ctx context.Context, key store.Key, last int64) iter.Seq2[*a2a.Entry, error] {
	return func(yield func(*a2a.Entry, error) bool) {
		shared := blobs{}
		for en, err := range r.Log(ctx, key, last) {
			if err == nil {
				err = r.restoreEntry(ctx, en, shared)
			}
			if !yield(en, err) || err != nil {
				return
			}
		}
	}
}

// Decode decodes an entry, without the content that is stored apart from it.
func Decode(raw *store.Entry) (*a2a.Entry, error) {
	en, err := a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", raw.Seq, err)
	}
	return en, nil
}

// Entry decodes an entry and reads the content that is stored apart from it.
func (r *Reader) Entry(ctx context.Context, raw *store.Entry) (*a2a.Entry, error) {
	en, err := Decode(raw)
	if err == nil {
		err = r.RestoreEntry(ctx, en)
	}
	return en, err
}

// FoldTo returns the task as of an entry of its log. It takes memory for the task and a page of
// the log.
func (r *Reader) FoldTo(ctx context.Context, key store.Key, seq int64) (*a2a.Task, error) {
	var unread error
	// Fold refuses a log with a gap, rather than show half a task.
	task, err := a2a.Fold(func(yield func(*a2a.Entry, error) bool) {
		for en, err := range r.Entries(ctx, key, seq) {
			if unread = err; !yield(en, err) {
				return
			}
		}
	})
	switch {
	case unread != nil:
		return nil, r.Unread(ctx, unread, key)
	case err != nil:
		return nil, Failed(err, "read task "+key.ID)
	}
	return task, nil
}

// count returns the generation of a task from its log.
func (r *Reader) count(ctx context.Context, rec *store.Record) (int64, error) {
	n := int64(1)
	for raw, err := range store.EachEntry(ctx, r.store, rec.Key, 0, rec.Last) {
		if err != nil {
			return 0, Failed(err, "read task "+rec.ID)
		}
		en := a2a.Entry{Seq: raw.Seq, Kind: a2a.EntryKind(raw.Kind)} // of a release that recorded no generations
		n = en.NextGeneration(n)
	}
	return n, nil
}

// Rest yields the entries of a log after the seq after. Only status changes have their bodies.
func (r *Reader) Rest(ctx context.Context, row *store.Row, after int64) iter.Seq2[*a2a.Entry, error] {
	return func(yield func(*a2a.Entry, error) bool) {
		for raw, err := range store.EachEntry(ctx, r.store, row.Key, after, row.Last) { // fewer, if the task is deleted meanwhile
			en := &a2a.Entry{Seq: raw.Seq, Kind: a2a.EntryKind(raw.Kind)}
			if err == nil && en.Kind == a2a.EntryStatus {
				en, err = a2a.DecodeEntry(raw.Seq, raw.Time, en.Kind, raw.Body)
			}
			if err != nil {
				yield(nil, Failed(err, "read task "+row.ID))
				return
			}
			if !yield(en, nil) {
				return
			}
		}
	}
}
