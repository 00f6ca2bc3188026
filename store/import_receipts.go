package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// checkReceipts says what an append would refuse, before anything is written.
func (a *archived) checkReceipts() error {
	names := map[string]bool{}
	for i := range a.signs {
		r := &a.signs[i]
		if r.Name == "" || names[r.Name] {
			return fmt.Errorf("receipt %q has no name, or comes twice", r.Name)
		}
		if r.Seq < 1 || r.Seq > a.row.Last {
			return fmt.Errorf("receipt %q is of entry %d, there are %d", r.Name, r.Seq, a.row.Last)
		}
		names[r.Name] = true
	}
	return nil
}

// sameReceipts compares those that both have: receipts are forgotten in time,
// there or where the export was made.
func (m *importer) sameReceipts(ctx context.Context, a *archived) error {
	there, err := m.st.Receipts(ctx, a.row.Key)
	if err != nil {
		return err
	}
	byName := map[string]*Receipt{}
	for i := range there {
		byName[there[i].Name] = &there[i]
	}
	for i := range a.signs {
		w := &a.signs[i]
		r := byName[w.Name]
		if r != nil && (r.Seq != w.Seq || !r.Time.Equal(w.Time) || !r.Until.Equal(w.Until) ||
			!bytes.Equal(r.Digest, w.Digest) || !bytes.Equal(r.Answer, w.Answer)) {
			return errDiffers
		}
	}
	return nil
}

// without appends without those receipts whose names count already: for another
// task that was there before, or one of the same export, which was made while
// a receipt ran out and was replaced. The task is what matters.
func (m *importer) without(ctx context.Context, a *Append) error {
	kept := *a
	kept.Receipts = nil
	for i := range a.Receipts {
		switch old, err := m.st.Receipt(ctx, a.Row.Key, a.Receipts[i].Name); {
		case err == nil && old.Counts(a.Receipts[i].Time):
		case err == nil || errors.Is(err, ErrNotFound):
			kept.Receipts = append(kept.Receipts, a.Receipts[i])
		default:
			return err
		}
	}
	return Do(ctx, m.st, &kept)
}
