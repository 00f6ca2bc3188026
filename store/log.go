package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Alone reports whether a has receipts and nothing else.
func (a *Append) Alone() bool { return len(a.Entries) == 0 && len(a.Receipts) > 0 }

// Validate reports what is wrong with a's form: entries must be there, and
// their Seq must go on from After without a gap; receipts have names, each of
// them another, and may be alone only where there is no task; dead letters are of
// push configs that come with them. Drivers call it
// before they apply an append.
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

// Append implements Store.
func (m *Memory) Append(a *Append, done func(error)) { m.group.Append(a, done) }

func (m *Memory) commit(batch []*Append) []error {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	errs := make([]error, len(batch))
	for i, a := range batch {
		errs[i] = m.data.apply(a)
	}
	m.data.tell(batch, errs)
	return errs
}

func (d *memory) apply(a *Append) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Alone() {
		err := d.taken(a)
		if err == nil {
			d.issue(nil, a)
		}
		return err
	}
	t := d.tasks[a.Row.Key]
	switch {
	case t == nil && a.After != 0:
		return ErrNotFound
	case t != nil && a.After == 0:
		return ErrConflict
	case t != nil && t.row.Epoch != a.Epoch:
		return ErrLeaseLost
	case t != nil && t.row.Last != a.After:
		return ErrConflict
	}
	if err := d.taken(a); err != nil {
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

// Milli returns t as a Store keeps it: in UTC, finer digits than milliseconds
// dropped.
func Milli(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Get implements Store.
func (m *Memory) Get(ctx context.Context, k Key, body bool) (*Record, error) {
	var r Record
	err := m.read(ctx, func(d *memory) error {
		t := d.tasks[k]
		if t == nil {
			return ErrNotFound
		}
		r = t.record(body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Entries implements Store.
func (m *Memory) Entries(ctx context.Context, k Key, after int64, limit int) ([]Entry, error) {
	var found []Entry
	err := m.read(ctx, func(d *memory) error {
		t := d.tasks[k]
		if t == nil || after >= t.row.Last {
			return nil
		}
		log := t.log[max(after, 0):] // log[i] has Seq i+1
		if limit > 0 && limit < len(log) {
			log = log[:limit]
		}
		found = make([]Entry, len(log))
		for i, e := range log {
			e.Body = bytes.Clone(e.Body)
			found[i] = e
		}
		return nil
	})
	return found, err
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
