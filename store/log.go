package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Log is the part of a Store that keeps the events of each task.
//
// A log changes by one operation, Append. Every reader sees an append as a whole or not at
// all. The other parts of a Store change the records beside the log: the process that owns a
// task, and the progress of its webhook deliveries.
type Log interface {
	// Append queues one atomic change of one task and returns at once, unless the queue is
	// full: then it waits for space. done is called exactly once, from a goroutine of the
	// store, when the outcome is certain or cannot be known:
	//
	//   - nil: the change is durable (fsynced) and visible to readers;
	//   - ErrConflict: the log does not end at a.After (or, with After 0, the task exists);
	//     nothing happened;
	//   - ErrLeaseLost: the stored epoch is not a.Epoch; nothing happened;
	//   - ErrNotFound: a.After is not 0 and there is no such task;
	//   - ErrDuplicate: one of a's receipts is already stored and valid, see Receipt; nothing
	//     happened; reported only if none of the errors above applies;
	//   - an error of a.Validate: nothing happened;
	//   - anything else: the effect is unknown; call Get to find out.
	//
	// If both the epoch and the end of the log differ, the error is ErrLeaseLost, because a
	// former owner must stop instead of reading the log and trying again.
	//
	// done must not block and must not call Append (it may pass work to another goroutine).
	// Appends of one task are applied in the order in which they were queued; appends of
	// other tasks may overtake large ones. Queued appends are committed together (group
	// commit), and the failure of one does not affect the others. After Close, done gets
	// ErrClosed.
	Append(a *Append, done func(error))

	// Get returns a task's record. The record has its Seal only if Record.Size is at most
	// most bytes, so a caller never gets more than it has memory for. RowOnly reads no seal
	// and leaves Size at 0; Whole reads all of it. Size tells the caller how much memory a
	// second Get needs.
	Get(ctx context.Context, k Key, most int64) (*Record, error)

	// Entries returns a page of a log: entries with Seq > after, in order, at most limit of
	// them (limit <= 0: no limit). The page ends with the entry whose body brings the total
	// to PageBytes or more. It has at least one entry if the log has one. An unknown task has
	// no entries. Full tells whether more may follow; EachEntry reads page after page.
	Entries(ctx context.Context, k Key, after int64, limit int) ([]Entry, error)

	// Blob returns the bytes stored under a hash, or ErrNotFound.
	Blob(ctx context.Context, hash string) ([]byte, error)

	// Blobs returns the hashes of the blobs that a task refers to, that is, those in its
	// appends, sorted. An unknown task has none.
	Blobs(ctx context.Context, k Key) ([]string, error)
}

// Append is one atomic change of one task.
type Append struct {
	Row     Row     // the new index row; Row.Key names the task
	After   int64   // the log must end here; 0: the task must not exist
	Epoch   int64   // the stored epoch must be this; ignored with After 0
	Entries []Entry // at least one; Seq After+1, After+2, …
	Seal    *Seal   // set when the task ends; nil removes an earlier seal, because the log continues
	Blobs   []Blob  // stored once per hash

	// Receipts are stored with the entries. If a message was answered without a task, its
	// receipts are appended alone: the Row has a tenant and an owner but no ID, and all other
	// fields are empty.
	Receipts []Receipt

	// Pushes are created or replaced together with the entries, so that they miss no entry.
	Pushes []PushConfig

	// Letters belong to those of Pushes that they name by ID. Only an import, which restores
	// both at once, has any.
	Letters []DeadLetter
}

// Entry is one element of a task's log.
type Entry struct {
	Seq  int64
	Time time.Time
	Kind uint8
	Body []byte
}

// Seal is a finished task's folded form. Head is small and read with the row,
// Body may be large.
type Seal struct {
	Head []byte
	Body []byte
}

// Size returns the size of the seal in bytes; a nil seal has size 0.
func (s *Seal) Size() int {
	if s == nil {
		return 0
	}
	return len(s.Head) + len(s.Body)
}

// Blob is content referred to by entries and seals.
type Blob struct {
	Hash string // of the content, chosen by the caller
	Data []byte
}

// Alone reports whether a has receipts and nothing else.
func (a *Append) Alone() bool { return len(a.Entries) == 0 && len(a.Receipts) > 0 }

// Validate reports an error in a's form. An append needs entries, and their Seq must continue
// from After without a gap. Receipts need distinct, non-empty names, and may come without
// entries only if there is no task. Dead letters must belong to push configs of the same
// append. Drivers call Validate before they apply an append.
func (a *Append) Validate() error {
	if a.After < 0 {
		return fmt.Errorf("store: append after entry %d", a.After)
	}
	if a.Alone() {
		if a.After != 0 || a.Row.ID != "" || a.Seal != nil || len(a.Blobs) > 0 || len(a.Pushes) > 0 || len(a.Letters) > 0 {
			return errors.New("store: receipts without entries are not of a task")
		}
	} else if len(a.Entries) == 0 {
		return errors.New("store: append has no entries")
	}
	for i := range a.Receipts {
		name := a.Receipts[i].Name
		if name == "" {
			return errors.New("store: a receipt has no name")
		}
		for j := range i { // few: a message id and perhaps a key
			if a.Receipts[j].Name == name {
				return errors.New("store: two receipts of one append have the same name")
			}
		}
	}
	if err := a.validatePushes(); err != nil {
		return err
	}
	for i := range a.Entries {
		if want := a.After + 1 + int64(i); a.Entries[i].Seq != want {
			return fmt.Errorf("store: append has entry %d where %d must be", a.Entries[i].Seq, want)
		}
	}
	return nil
}

// Refusal returns why a does not fit a task as stored, or nil: last is the seq of the last
// entry of the task's log, and 0 if there is no such task. It is for drivers, which check the
// receipts afterwards.
func (a *Append) Refusal(last, epoch int64) error {
	switch {
	case last == 0 && a.After != 0:
		return ErrNotFound
	case last != 0 && a.After == 0:
		return ErrConflict
	case last != 0 && epoch != a.Epoch:
		return ErrLeaseLost
	case last != a.After:
		return ErrConflict
	}
	return nil
}

// Append implements Store.
func (m *Memory) Append(a *Append, done func(error)) { m.group.Append(a, done) }

func (m *Memory) commit(batch []*Append) []error {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	errs := make([]error, len(batch))
	for i, a := range batch {
		errs[i] = m.data.apply(a)
	}
	m.tell(batch, errs)
	return errs
}

func (d *memory) apply(a *Append) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Alone() {
		err := d.unused(a)
		if err == nil {
			d.issue(nil, a)
		}
		return err
	}
	t := d.tasks[a.Row.Key]
	var was Row
	if t != nil {
		was = t.row
	}
	if err := a.Refusal(was.Last, was.Epoch); err != nil {
		return err
	}
	if err := d.unused(a); err != nil {
		return err
	}
	if t == nil {
		t = &memoryTask{blobs: map[string]bool{}}
		d.tasks[a.Row.Key] = t
	}
	moves := !t.listedAs(&a.Row)
	if moves {
		d.unlist(t)
	}
	for i := range a.Pushes {
		d.setPush(a.Row.Key, a.Pushes[i])
	}
	t.bury(a.Row.Key, a.Letters)
	t.row = a.Row
	t.row.Last = a.Entries[len(a.Entries)-1].Seq
	t.row.Updated = Milli(a.Row.Updated)
	t.row.Created = Milli(a.Row.Created)
	if moves {
		d.enlist(t)
	}
	t.seal = nil
	if a.Seal != nil {
		t.seal = &Seal{Head: a.Seal.Head, Body: a.Seal.Body}
	}
	for _, e := range a.Entries {
		e.Time = Milli(e.Time)
		t.log = append(t.log, e)
		t.packed += int64(packedSize(&e))
	}
	for _, b := range a.Blobs {
		t.blobs[b.Hash] = true
		if _, ok := d.blobs[b.Hash]; !ok {
			d.blobs[b.Hash] = b.Data
		}
	}
	d.issue(t, a)
	return nil
}

// Milli returns t as a Store keeps it: in UTC, truncated to milliseconds. The zero time stays
// what it is.
func Milli(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Get implements Store.
func (m *Memory) Get(ctx context.Context, k Key, most int64) (*Record, error) {
	var r Record
	err := m.read(ctx, func(d *memory) error {
		t := d.tasks[k]
		if t == nil {
			return ErrNotFound
		}
		if most <= RowOnly {
			r.Row = t.row
		} else {
			r = d.record(t, true, most)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Entries implements Store.
func (m *Memory) Entries(ctx context.Context, k Key, after int64, limit int) ([]Entry, error) {
	page := NewEntryPage(after, limit)
	err := m.read(ctx, func(d *memory) error {
		t := d.tasks[k]
		if t == nil || after >= t.row.Last {
			return nil
		}
		for _, e := range t.log[max(after, 0):] { // log[i] has Seq i+1
			if page.Full() {
				break
			}
			e.Body = bytes.Clone(e.Body)
			page.add(e)
		}
		return nil
	})
	return page.Entries, err
}

// Blob implements Store.
func (m *Memory) Blob(ctx context.Context, hash string) ([]byte, error) {
	var data []byte
	err := m.read(ctx, func(d *memory) error {
		b, ok := d.blobs[hash]
		if !ok {
			return ErrNotFound
		}
		data = bytes.Clone(b)
		return nil
	})
	return data, err
}

// Blobs implements Store.
func (m *Memory) Blobs(ctx context.Context, k Key) ([]string, error) {
	var found []string
	err := m.read(ctx, func(d *memory) error {
		if t := d.tasks[k]; t != nil {
			found = slices.Sorted(maps.Keys(t.blobs))
		}
		return nil
	})
	return found, err
}
