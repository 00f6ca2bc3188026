package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/store"
)

// stored is the part of a task's row that appends are checked against and that tallies need.
type stored struct {
	key         int64
	last, epoch int64
	context     string
	state       int32
	updated     int64
}

// working holds rows of active tasks as the writer last wrote them. They may be out of date,
// because other processes write rows too. So the statement that relies on them compares last
// and epoch: whenever any of these fields changes, one of the two changes too.
type working map[store.Key]stored

// maxWorking limits the number of rows in working.
const maxWorking = 8192

// note remembers a row as an append leaves it.
func (w working) note(key int64, a *store.Append) {
	r := &a.Row
	if !r.Active || a.Seal != nil {
		delete(w, r.Key)
		return
	}
	if len(w) >= maxWorking {
		clear(w) // simpler than tracking which are the oldest
	}
	w[r.Key] = stored{key, a.After + int64(len(a.Entries)), r.Epoch, r.Context, r.State, r.Updated.UnixMilli()}
}

// change is what a batch does with one task: one append, or several consecutive ones.
// Receipts without a task are also one change.
type change struct {
	appends []int // indexes in the batch
	old     bool  // the task should exist
	key     int64 // of the task; 0: no task
	was     stored
}

// maxMerged limits the part of a log that is put into one row, in bytes, when appends are
// merged, because reading one entry reads its whole row.
const maxMerged = 64 << 10

// gather divides a batch: from begin on, it takes appends until one that cannot be in the
// same statement, and returns its index. A statement does not see its own writes, so it may
// have only one change of each task and one receipt of each name.
func (w *writer) gather(all []*store.Append, errs []error, begin int) (end int) {
	w.changes = w.changes[:0]
	clear(w.at)
	clear(w.names)
	for i := begin; i < len(all); i++ {
		a := all[i]
		if errs[i] = check(a); errs[i] != nil {
			continue
		}
		at, there := w.at[a.Row.Key]
		there = there && !a.Alone()
		if there && !w.changes[at].goesOn(all, a) || w.repeats(a) {
			return i
		}
		for j := range a.Receipts {
			w.names[receiptName{a.Row.Tenant, a.Row.Owner, a.Receipts[j].Name}] = struct{}{}
		}
		if there {
			w.changes[at].appends = append(w.changes[at].appends, i)
			continue
		}
		if !a.Alone() {
			w.at[a.Row.Key] = len(w.changes)
		}
		w.changes = append(w.changes, change{appends: []int{i}, old: a.After > 0})
	}
	return len(all)
}

// repeats reports whether an append has a receipt with the name of one gathered already.
func (w *writer) repeats(a *store.Append) bool {
	for i := range a.Receipts {
		if _, there := w.names[receiptName{a.Row.Tenant, a.Row.Owner, a.Receipts[i].Name}]; there {
			return true
		}
	}
	return false
}

type receiptName struct{ tenant, owner, name string }

// goesOn reports whether an append continues where a change ends.
func (c *change) goesOn(all []*store.Append, a *store.Append) bool {
	last := all[c.appends[len(c.appends)-1]]
	return a.After == last.After+int64(len(last.Entries)) && a.Epoch == last.Row.Epoch
}

// first returns the first append of a change.
func (c *change) first(all []*store.Append) *store.Append { return all[c.appends[0]] }

// final returns the last append of a change, which has the final row.
func (c *change) final(all []*store.Append) *store.Append { return all[c.appends[len(c.appends)-1]] }

// fill makes the rows of a batch. All writers sort the rows of each table in the same order,
// so that they cannot deadlock.
func (w *writer) fill(ctx context.Context, all []*store.Append, changes []change) error {
	b := w.batch
	b.reset()
	pushes, again := 0, w.patiently
	for i := range changes {
		c := &changes[i]
		c.key = c.was.key
		if !c.old && !c.first(all).Alone() {
			var err error
			if c.key, err = w.s.tasks.take(ctx, w.s.db, again); err != nil {
				return err
			}
		}
		for _, at := range c.appends {
			pushes += len(all[at].Pushes)
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return compareNames(&a.first(all).Row, &b.first(all).Row) })
	keys, version := w.s.scopes.known()
	b.scopes = version
	w.moves.reset(keys)
	for i := range changes {
		c := &changes[i]
		if c.key > 0 {
			w.fillTask(all, c)
		}
	}
	w.fillReceipts(all, changes)
	w.fillBlobs(all, changes)
	if version > 0 {
		w.moves.into(b.tables[newTallies], w.s.slot)
	}
	if pushes > 0 {
		return w.fillPushes(ctx, all, changes)
	}
	return nil
}

// knowScopes reads the scopes, the first time.
func (w *writer) knowScopes(ctx context.Context) error {
	if _, version := w.s.scopes.known(); version > 0 || w.s.o.NoAdvisory {
		return nil
	}
	return w.patiently(ctx, w.s.readScopes)
}

// compareNames orders tasks by their names.
func compareNames(a, b *store.Row) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Tenant, b.Tenant))
}

// fillTask adds a task's row and entries, and notes its changes for the tallies.
func (w *writer) fillTask(all []*store.Append, c *change) {
	a := c.final(all)
	r := &a.Row
	if c.old {
		row(w.batch.tables[oldTasks].int8(c.key).int8(c.was.last).int8(c.was.epoch), a)
	} else {
		row(w.batch.tables[newTasks].int8(c.key).text(r.Tenant).text(r.Owner).text(r.ID), a)
	}
	entries := w.batch.tables[newEntries]
	first := c.first(all).After + 1
	w.packed = w.packed[:0]
	for i, at := range c.appends {
		a := all[at]
		w.packed = store.Pack(w.packed, a.Entries)
		if i == len(c.appends)-1 || len(w.packed) >= maxMerged {
			last := a.After + int64(len(a.Entries))
			entries.int8(c.key).int8(last).int8(first).bytes(w.packed)
			first, w.packed = last+1, w.packed[:0]
		}
	}
	if cap(w.packed) > bigColumn {
		w.packed = nil
	}
	updated, was := r.Updated.UnixMilli(), &c.was
	if c.old && was.context == r.Context && was.state == r.State && was.updated == updated {
		return
	}
	if c.old {
		w.moves.note(r.Tenant, r.Owner, was.context, was.state, was.updated, -1)
	}
	if name, small := w.moves.note(r.Tenant, r.Owner, r.Context, r.State, updated, 1); small {
		w.grows(name)
	}
}

// row adds the values of taskColumns.
func row(t *table, a *store.Append) {
	r := &a.Row
	t.text(r.Context).int4(r.State).time(r.Updated).time(r.Created).int8(a.After + int64(len(a.Entries))).bool(r.Active).text(r.Node).
		int8(r.Epoch).int4(r.Lost).int8(r.Turn).int4(r.Attempt)
	if a.Seal == nil {
		t.null().null()
	} else {
		t.bytes(a.Seal.Head).bytes(a.Seal.Body)
	}
}

// fillBlobs adds the blobs, each once, and the references of tasks to them.
func (w *writer) fillBlobs(all []*store.Append, changes []change) {
	type use struct {
		task int64
		blob *store.Blob
	}
	var uses []use
	for i := range changes {
		for _, at := range changes[i].appends {
			for j := range all[at].Blobs {
				uses = append(uses, use{changes[i].key, &all[at].Blobs[j]})
			}
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return strings.Compare(a.blob.Hash, b.blob.Hash) })
	for i, u := range uses {
		if i == 0 || u.blob.Hash != uses[i-1].blob.Hash {
			w.batch.tables[newBlobs].text(u.blob.Hash).bytes(u.blob.Data)
		}
		w.batch.tables[newUses].int8(u.task).text(u.blob.Hash)
	}
}

// fillPushes adds push configs and their dead letters; of several with the same name the last
// one wins. New configs get their keys in the order of the appends, because they are listed
// in the order of keys, even if the appends are written in another order.
func (w *writer) fillPushes(ctx context.Context, all []*store.Append, changes []change) error {
	for _, a := range all { // including those that earlier or later statements write
		for j := range a.Pushes {
			id := store.PushID{Key: a.Row.Key, ID: a.Pushes[j].ID}
			if w.places[id] > 0 {
				continue
			}
			key, err := w.s.pushes.take(ctx, w.s.db, w.patiently)
			if err != nil {
				return err
			}
			w.places[id] = key
		}
	}
	type letterName struct {
		push string
		seq  int64
	}
	for i := range changes {
		c := &changes[i]
		var pushes []store.PushConfig
		var dead []store.DeadLetter
		for _, at := range c.appends {
			pushes, dead = append(pushes, all[at].Pushes...), append(dead, all[at].Letters...)
		}
		for _, p := range lastOf(pushes, func(p store.PushConfig) string { return p.ID }) {
			key := w.places[store.PushID{Key: c.first(all).Row.Key, ID: p.ID}]
			w.batch.tables[newPushes].int8(key).int8(c.key).text(p.ID).text(p.Host).bytes(p.Body).time(p.Created).text(p.Node).bool(p.Live).
				int8(p.Cursor).int4(p.Tries).maybe(p.Since).maybe(p.Due).text(p.Reason)
		}
		for _, d := range lastOf(dead, func(d store.DeadLetter) letterName { return letterName{d.ID, d.Seq} }) {
			w.batch.tables[newLetters].int8(c.key).text(d.ID).int8(d.Seq).time(d.Time).int4(d.Tries).text(d.Reason).bool(d.Again)
		}
	}
	return nil
}
