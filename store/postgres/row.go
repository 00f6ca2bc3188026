package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/store"
)

// stored is what a task's row was, as far as an append is checked against it and
// tallies are about it.
type stored struct {
	key         int64
	last, epoch int64
	context     string
	state       int32
	updated     int64
}

// working are tasks at work as the writer left them. It is not said that they still
// are: others write rows, too. The statement that relies on it compares; whoever
// changes what is here changes the last entry or the epoch with it.
type working map[store.Key]stored

// maxWorking is how many are known at most.
const maxWorking = 8192

// note takes a row as an append leaves it.
func (w working) note(key int64, a *store.Append) {
	r := &a.Row
	if !r.Active || a.Seal != nil {
		delete(w, r.Key)
		return
	}
	if len(w) >= maxWorking {
		clear(w) // rather than to know which are the oldest
	}
	w[r.Key] = stored{key, a.After + int64(len(a.Entries)), r.Epoch, r.Context, r.State, r.Updated.UnixMilli()}
}

// change is what a batch does with one task: an append or several that go on from
// each other. Receipts that come alone are one, too.
type change struct {
	appends []int // their places in the batch
	old     bool  // the task should be there
	key     int64 // of the task; 0: there is none
	was     stored
}

// maxMerged is how much of a log is put into one row, in bytes, when appends are
// merged: reading one entry reads its row.
const maxMerged = 64 << 10

// gather divides what is queued: it takes appends from a place on until one that
// cannot be in the same statement, and returns its place. A statement sees no row
// of its own, so there is one change of each task, and one receipt of each name.
func (w *writer) gather(all []*store.Append, errs []error, begin int, merge bool) (end int) {
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
		if there && !(merge && w.changes[at].goesOn(all, a)) || w.repeats(a) {
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

// repeats reports whether a receipt of an append is of a name that is there.
func (w *writer) repeats(a *store.Append) bool {
	for i := range a.Receipts {
		if _, there := w.names[receiptName{a.Row.Tenant, a.Row.Owner, a.Receipts[i].Name}]; there {
			return true
		}
	}
	return false
}

type receiptName struct{ tenant, owner, name string }

// goesOn reports whether an append begins where a change ends.
func (c *change) goesOn(all []*store.Append, a *store.Append) bool {
	last := all[c.appends[len(c.appends)-1]]
	return a.After == last.After+int64(len(last.Entries)) && a.Epoch == last.Row.Epoch
}

// first is the append that begins a change.
func (c *change) first(all []*store.Append) *store.Append { return all[c.appends[0]] }

// final is the append that ends it: the row shall be as it says.
func (c *change) final(all []*store.Append) *store.Append { return all[c.appends[len(c.appends)-1]] }

// fill makes the rows of a batch, those of each table in an order that is the same
// for all who write: then none waits for one who waits for it.
func (w *writer) fill(ctx context.Context, all []*store.Append, changes []change) error {
	b := w.batch
	b.reset()
	made, pushes := 0, 0
	for i := range changes {
		c := &changes[i]
		if c.key = c.was.key; !c.old && !c.first(all).Alone() {
			made++
		}
		for _, at := range c.appends {
			pushes += len(all[at].Pushes)
		}
	}
	if made > 0 {
		var key int64
		err := w.patiently(ctx, func(ctx context.Context) (err error) {
			key, err = w.s.tasks.take(ctx, w.s.db, made)
			return err
		})
		if err != nil {
			return err
		}
		for i := range changes {
			if c := &changes[i]; !c.old && !c.first(all).Alone() {
				c.key = key
				key++
			}
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

// knowScopes reads which scopes there are, the first time.
func (w *writer) knowScopes(ctx context.Context) error {
	if _, version := w.s.scopes.known(); version > 0 || w.s.o.NoAdvisory {
		return nil
	}
	return w.patiently(ctx, w.s.readScopes)
}

// compareNames orders by the names of tasks.
func compareNames(a, b *store.Row) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Tenant, b.Tenant))
}

// fillTask adds a task's row and entries, and what tallies are told of it.
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

// row adds taskColumns.
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

// fillBlobs adds the blobs, each once, and which task refers to which.
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

// fillPushes adds push configs and their letters, the last of each name. New ones
// get their keys in the order of the appends, for that is the order in which they
// are listed: also where the appends are then written in another one.
func (w *writer) fillPushes(ctx context.Context, all []*store.Append, changes []change) error {
	type name struct {
		task int64
		id   string
		seq  int64 // of a letter
	}
	tasks := map[int]int64{} // of appends
	for i := range changes {
		for _, at := range changes[i].appends {
			tasks[at] = changes[i].key
		}
	}
	var order, letters []name
	var keys []int64 // of order
	pushes, dead := map[name]*store.PushConfig{}, map[name]*store.DeadLetter{}
	for _, a := range all { // also what an earlier or a later statement writes
		for j := range a.Pushes {
			if p := &a.Pushes[j]; w.places[p] == 0 {
				err := w.patiently(ctx, func(ctx context.Context) (err error) {
					w.places[p], err = w.s.pushes.take(ctx, w.s.db, 1)
					return err
				})
				if err != nil {
					return err
				}
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(tasks)) {
		a := all[at]
		for j := range a.Pushes {
			n := name{tasks[at], a.Pushes[j].ID, 0}
			if pushes[n] == nil {
				order, keys = append(order, n), append(keys, w.places[&a.Pushes[j]])
			}
			pushes[n] = &a.Pushes[j]
		}
		for j := range a.Letters {
			n := name{tasks[at], a.Letters[j].ID, a.Letters[j].Seq}
			if dead[n] == nil {
				letters = append(letters, n)
			}
			dead[n] = &a.Letters[j]
		}
	}
	for i, n := range order {
		p := pushes[n]
		w.batch.tables[newPushes].int8(keys[i]).int8(n.task).text(p.ID).text(p.Host).bytes(p.Body).time(p.Created).text(p.Node).bool(p.Live).
			int8(p.Cursor).int4(p.Tries).maybe(p.Since).maybe(p.Due).text(p.Reason)
	}
	for _, n := range letters {
		d := dead[n]
		w.batch.tables[newLetters].int8(n.task).text(n.id).int8(n.seq).time(d.Time).int4(d.Tries).text(d.Reason).bool(d.Again)
	}
	return nil
}
