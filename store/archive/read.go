package archive

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// read reads all of a task, as of one moment. If the task has more than most bytes of
// content, it returns neither a task nor an error.
//
// The order of the calls matters, because the task may change or be deleted between two of
// them. The row comes first: if the record, which is read later, has the same creation time,
// then everything read in between belongs to the same task. Push configs come before the
// record: so none is ahead of the log, and an event delivered meanwhile is delivered again
// after an import. The log comes last: if it is whole, and the task is still the same
// afterwards, it existed when the rest was read.
func read(ctx context.Context, src Source, k store.Key, most int64) (*store.Task, error) {
	first, err := src.Get(ctx, k, store.RowOnly+1)
	if err != nil || first.Size > most {
		return nil, err
	}
	t := &store.Task{}
	if err := readPushes(ctx, src, k, t); err != nil {
		return nil, err
	}
	rec, err := src.Get(ctx, k, store.Whole)
	if err != nil {
		return nil, err
	}
	t.Record = *rec
	if !rec.Created.Equal(first.Created) { // the configs may belong to an earlier task of this name
		return nil, errTorn
	}
	for i := range t.Pushes {
		if t.Pushes[i].Cursor > rec.Last { // it belongs to a task that was deleted and created again
			return nil, errTorn
		}
	}
	hashes, err := src.Blobs(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, h := range hashes {
		t.Blobs = append(t.Blobs, store.Blob{Hash: h})
	}
	receipts, err := src.Receipts(ctx, k)
	if err != nil {
		return nil, err
	}
	for i := range receipts {
		if receipts[i].Seq <= rec.Last { // the task may have continued since its record was read
			t.Receipts = append(t.Receipts, receipts[i])
		}
	}
	return t, readLog(ctx, src, t)
}

func readLog(ctx context.Context, src Source, t *store.Task) error {
	for e, err := range store.EachEntry(ctx, src, t.Key, 0, t.Last) {
		if err != nil {
			return err
		}
		t.Log = append(t.Log, e)
	}
	if int64(len(t.Log)) < t.Last {
		return errTorn
	}
	// The log may belong, in part or as a whole, to another task of this name.
	now, err := src.Get(ctx, t.Key, store.RowOnly)
	if err != nil {
		return err
	}
	if !now.Created.Equal(t.Created) || now.Last < t.Last {
		return errTorn
	}
	return nil
}

// readPushes reads configs before their dead letters, so that a delivery abandoned meanwhile
// is in at least one of the two.
func readPushes(ctx context.Context, src Source, k store.Key, t *store.Task) error {
	const page = 100
	for after := ""; ; {
		configs, err := src.Pushes(ctx, k, after, page)
		if err != nil {
			return err
		}
		for i := range configs {
			after = configs[i].ID
			if err := readLetters(ctx, src, configs[i].PushID(), t); err != nil {
				return err
			}
		}
		t.Pushes = append(t.Pushes, configs...)
		if len(configs) < page {
			return nil
		}
	}
}

func readLetters(ctx context.Context, src Source, id store.PushID, t *store.Task) error {
	q := store.LetterQuery{Of: &id, Limit: 1000}
	for {
		dead, err := src.DeadLetters(ctx, q)
		if err != nil {
			return err
		}
		t.Letters = append(t.Letters, dead...)
		if len(dead) < q.Limit {
			return nil
		}
		q.After = &dead[len(dead)-1]
	}
}
