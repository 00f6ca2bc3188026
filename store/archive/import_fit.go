package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/store"
)

// checkReceipts returns the error that an append would return, before anything is written.
func checkReceipts(t *store.Task) error {
	names := map[string]bool{}
	for i := range t.Receipts {
		r := &t.Receipts[i]
		if r.Name == "" || names[r.Name] {
			return fmt.Errorf("receipt %q has no name, or comes twice", r.Name)
		}
		if r.Seq < 1 || r.Seq > t.Last {
			return fmt.Errorf("receipt %q is of entry %d, there are %d", r.Name, r.Seq, t.Last)
		}
		names[r.Name] = true
	}
	return nil
}

// checkPushes returns an error if push configs or dead letters are invalid, before anything
// is written.
func checkPushes(t *store.Task) error {
	known := map[string]bool{}
	for i := range t.Pushes {
		p := &t.Pushes[i]
		if p.ID == "" || known[p.ID] {
			return fmt.Errorf("push config %q has no id, or comes twice", p.ID)
		}
		if p.Cursor < 0 || p.Cursor > t.Last {
			return fmt.Errorf("push config %q is at entry %d, there are %d", p.ID, p.Cursor, t.Last)
		}
		known[p.ID] = true
	}
	type letterID struct {
		push string
		seq  int64
	}
	seen := map[letterID]bool{}
	for i := range t.Letters {
		l := &t.Letters[i]
		id := letterID{l.ID, l.Seq}
		if !known[l.ID] || seen[id] || l.Seq < 1 || l.Seq > t.Last {
			return fmt.Errorf("dead letter %d of push config %q is of none that is there, or comes twice", l.Seq, l.ID)
		}
		seen[id] = true
	}
	return nil
}

// present returns how much of a task st has: the seq of its last entry, and whether the task
// is complete. A task that differs is an error.
func (m *importer) present(ctx context.Context, t *store.Task) (last int64, whole bool, err error) {
	if m.empty { // each task comes once
		return 0, false, nil
	}
	rec, err := m.st.Get(ctx, t.Key, store.Whole)
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	whole = rec.Row == t.Row
	if !whole && rec.Node != importing || rec.Last > int64(len(t.Log)) {
		return 0, false, errDiffers
	}
	for e, err := range store.EachEntry(ctx, m.st, t.Key, 0, rec.Last) {
		if err != nil {
			return 0, false, err
		}
		if w := &t.Log[e.Seq-1]; e.Kind != w.Kind || !e.Time.Equal(w.Time) || !bytes.Equal(e.Body, w.Body) {
			return 0, false, errDiffers
		}
	}
	if whole && !sameSeal(rec.Seal, t.Seal) {
		return 0, false, errDiffers
	}
	if err := m.sameReceipts(ctx, t); err != nil {
		return 0, false, err
	}
	return rec.Last, whole, m.samePushes(ctx, t)
}

func sameSeal(a, b *store.Seal) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Head, b.Head) && bytes.Equal(a.Body, b.Body)
}

var errDiffers = errors.New("there is another task of this name; nothing is overwritten: import into a fresh directory, or delete that task first")

// sameReceipts compares the receipts that both have. Others may have been forgotten in the
// meantime, there or where the export was made.
func (m *importer) sameReceipts(ctx context.Context, t *store.Task) error {
	there, err := m.st.Receipts(ctx, t.Key)
	if err != nil {
		return err
	}
	byName := map[string]*store.Receipt{}
	for i := range there {
		byName[there[i].Name] = &there[i]
	}
	for i := range t.Receipts {
		w := &t.Receipts[i]
		r := byName[w.Name]
		if r != nil && (r.Seq != w.Seq || !r.Time.Equal(w.Time) || !r.Until.Equal(w.Until) ||
			!bytes.Equal(r.Digest, w.Digest) || !bytes.Equal(r.Answer, w.Answer)) {
			return errDiffers
		}
	}
	return nil
}

// samePushes compares the configs that both have. Deliveries continue, in st or where the
// export was made, and clients delete and replace configs; but two configs with the same
// creation time must deliver the same to the same receiver.
func (m *importer) samePushes(ctx context.Context, t *store.Task) error {
	for i := range t.Pushes {
		w := &t.Pushes[i]
		p, err := m.st.Push(ctx, w.PushID())
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if p.Created.Equal(w.Created) && (p.Host != w.Host || !bytes.Equal(p.Body, w.Body)) {
			return errDiffers
		}
	}
	return nil
}
