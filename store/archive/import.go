package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/store"
)

// Imported is the result of an import.
type Imported struct {
	New, There Count  // of the export: what was imported, and what was there already
	Sum        string // checksum of the export
}

// Mark is the name under which a store keeps the checksum of an export while its import is
// not finished.
const Mark = "import"

// ErrImporting means that a store has a part of another import.
var ErrImporting = errors.New("an import of another export was not finished: run that one again first")

// ErrNotEmpty means that a store has tasks although it should have none.
var ErrNotEmpty = errors.New("there are tasks already; nothing is changed: import into a database that has none")

// Import puts the tasks of an export into st. It reads the export twice. First it checks the
// whole export and its checksum, and that each task is either not in st or is the same there
// in every respect. Only then does it write, so an export that is damaged or does not fit
// changes nothing. To continue an interrupted import, run it again; until then, st has Mark.
//
// If fresh is set, Import refuses a store that has tasks, except for tasks of the same import
// before it was interrupted.
//
// Active tasks continue when a server next uses st, and so do deliveries to webhooks. They
// are signed with the keys of the export, unless st has other keys.
func Import(ctx context.Context, st store.Store, r io.ReadSeeker, fresh bool) (Imported, error) {
	first, err := st.Tasks(ctx, nil, 1)
	if err != nil {
		return Imported{}, err
	}
	empty := len(first) == 0
	check := &importer{st: st, empty: empty}
	if err := check.run(ctx, r, check.fits, nil); err != nil {
		return Imported{}, err
	}
	kept, err := st.Kept(ctx)
	if err != nil {
		return Imported{}, err
	}
	mark := kept[Mark]
	switch {
	case mark != nil && string(mark) != check.sum:
		return Imported{}, ErrImporting
	case fresh && mark == nil && !empty:
		return Imported{}, ErrNotEmpty
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return Imported{}, err
	}
	sum := []byte(check.sum)
	if now, err := st.Keep(ctx, Mark, nil, sum); err != nil {
		return Imported{}, err
	} else if !bytes.Equal(now, sum) { // another import began just now
		return Imported{}, ErrImporting
	}
	m := &importer{st: st, empty: empty, slots: make(chan struct{}, importAhead)}
	err = m.run(ctx, r, m.put, m.keep)
	if settled := m.settle(ctx); err == nil {
		err = settled
	}
	if err == nil {
		_, err = st.Keep(ctx, Mark, sum, nil)
	}
	return Imported{m.imported, m.there, check.sum}, err
}

// Compare reads an export and returns an error unless all its tasks are in st unchanged. It
// ignores later deliveries and later changes of receipts.
func Compare(ctx context.Context, st store.Store, r io.ReadSeeker) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	m := &importer{st: st}
	return m.run(ctx, r, func(ctx context.Context, t *store.Task) error {
		_, whole, err := m.present(ctx, t)
		if err == nil && !whole {
			err = errors.New("it is not there, or not whole")
		}
		return err
	}, nil)
}

const (
	// importing is the node of a task whose log is not complete yet.
	importing = "import not finished"

	importAhead   = 256     // appends that are queued at once
	importEntries = 1024    // per append
	importBytes   = 8 << 20 // per append, approximately

	importBlobs = 32 << 20 // bytes of blobs that are kept for later tasks
)

type importer struct {
	st              store.Store
	empty           bool   // st had no tasks before the import
	sum             string // of the export, after all of it was read
	imported, there Count

	blobs map[string][]byte // some of the blobs read so far, by hash
	held  int               // their size in bytes

	slots chan struct{} // one token per queued append

	mu    sync.Mutex      // protects the fields below
	again []*store.Append // appends refused because of a receipt
	lost  error           // of the first append that failed
}

// run reads an export and calls each for every task and, unless nil, keep for every kept
// value.
func (m *importer) run(ctx context.Context, r io.Reader, each func(context.Context, *store.Task) error, keep func(context.Context, *keptLine) error) error {
	in, sum := bufio.NewReaderSize(r, 64<<10), sha256.New()
	var count Count
	var task *store.Task
	kept := false
	finish := func() error {
		if task == nil {
			return nil
		}
		if int64(len(task.Log)) != task.Last || task.Last < 1 {
			return fmt.Errorf("import: task %s has %d entries, its row says %d", task.ID, len(task.Log), task.Last)
		}
		err := checkReceipts(task)
		if err == nil {
			err = checkPushes(task)
		}
		if err != nil {
			return fmt.Errorf("import: task %s: %w", task.ID, err)
		}
		count.Tasks++
		count.Entries += task.Last
		if err := each(ctx, task); err != nil {
			return fmt.Errorf("import: task %s: %w", task.ID, err)
		}
		return ctx.Err()
	}
	for n := 1; ; n++ {
		b, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("import: the export ends in line %d, without its checksum: it was cut off", n)
		}
		if err != nil {
			return err
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("import: line %d is damaged: %w", n, err)
		}
		switch {
		case n == 1:
			if l.Parley != "export" {
				return errors.New("import: this is not an export of parley")
			}
			if l.Version != version {
				return fmt.Errorf("import: the export is of version %d, this program knows %d", l.Version, version)
			}
		case l.End != nil:
			if err := finish(); err != nil {
				return err
			}
			m.sum = hex.EncodeToString(sum.Sum(nil))
			if l.End.SHA256 != m.sum {
				return errors.New("import: the checksum is wrong: the export was changed or damaged")
			}
			if l.End.Tasks != count.Tasks || l.End.Entries != count.Entries {
				return errors.New("import: the export does not hold what it says")
			}
			if rest, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("import: something (%q) follows the end of the export", rest)
			}
			return nil
		case l.Task != nil:
			if err := finish(); err != nil {
				return err
			}
			next := l.task()
			if task != nil && task.Key.Compare(next.Key) >= 0 {
				return fmt.Errorf("import: line %d has a task out of order, or twice", n)
			}
			task = next
		case l.Kept != nil:
			if task != nil || l.Kept.Name != store.WebhookKeys || kept {
				return fmt.Errorf("import: line %d keeps %q, which is not known, or comes twice, or behind a task", n, l.Kept.Name)
			}
			kept = true
			if keep != nil {
				if err := keep(ctx, l.Kept); err != nil {
					return fmt.Errorf("import: what is kept: %w", err)
				}
			}
		case task == nil:
			return fmt.Errorf("import: line %d belongs to no task", n)
		case l.Blob != nil:
			task.Blobs = append(task.Blobs, store.Blob{Hash: string(l.Blob.Hash), Data: l.Blob.Data})
		case l.Receipt != nil:
			task.Receipts = append(task.Receipts, l.Receipt.receipt())
		case l.Push != nil:
			task.Pushes = append(task.Pushes, l.Push.push(task.Key))
		case l.Letter != nil:
			task.Letters = append(task.Letters, l.Letter.letter(task.Key))
		case l.Entry != nil:
			e := l.Entry.entry()
			if e.Seq != int64(len(task.Log))+1 {
				return fmt.Errorf("import: line %d has entry %d where %d must be", n, e.Seq, len(task.Log)+1)
			}
			task.Log = append(task.Log, e)
		default:
			return fmt.Errorf("import: line %d is of no known kind", n)
		}
		sum.Write(b)
	}
}

// fits handles a task in the first reading, which changes nothing.
func (m *importer) fits(ctx context.Context, t *store.Task) error {
	_, _, err := m.present(ctx, t)
	return err
}

// put handles a task in the second reading.
func (m *importer) put(ctx context.Context, t *store.Task) error {
	at, whole, err := m.present(ctx, t)
	if err != nil {
		return err
	}
	if whole {
		m.there.Tasks++
		m.there.Entries += t.Last
		return nil
	}
	if err := m.complete(ctx, t.Blobs); err != nil {
		return err
	}
	blobs := t.Blobs
	if at > 0 { // an interrupted import brought some
		there, err := m.st.Blobs(ctx, t.Key)
		if err != nil {
			return err
		}
		blobs = slices.DeleteFunc(blobs, func(b store.Blob) bool { return slices.Contains(there, b.Hash) })
	}
	m.imported.Tasks++
	m.imported.Entries += t.Last
	for first := at; ; first = at {
		next := &store.Append{Row: t.Row, After: first, Epoch: t.Epoch}
		next.Blobs, blobs = share(blobs, t.Last-first)
		size := 0
		for at < t.Last && at-first < importEntries && (at == first || size < importBytes && len(blobs) == 0) {
			size += len(t.Log[at].Body)
			at++
		}
		next.Entries = t.Log[first:at]
		if first == 0 {
			next.Receipts = t.Receipts
		}
		if at == t.Last {
			next.Seal = t.Seal
			// These come with the last append, so that no node delivers an incomplete log.
			next.Pushes, next.Letters = t.Pushes, t.Letters
			return m.queue(ctx, next)
		}
		next.Row.Node, next.Row.Active = importing, false
		err := store.Do(ctx, m.st, next)
		if errors.Is(err, store.ErrDuplicate) {
			err = m.without(ctx, next)
		}
		if err != nil {
			return err
		}
	}
}

// share divides blobs between the next append of a task and its later appends, of which there
// can be as many as entries are left: a store does not take all files of a long task at once.
func share(blobs []store.Blob, appends int64) (next, later []store.Blob) {
	left, size, n := 0, 0, 0
	for i := range blobs {
		left += len(blobs[i].Data)
	}
	most := max(importBytes, left/int(max(appends, 1)))
	for n < len(blobs) && (n == 0 || appends == 1 || size+len(blobs[n].Data) <= most) {
		size += len(blobs[n].Data)
		n++
	}
	return blobs[:n:n], blobs[n:]
}

// complete fetches the data of blobs that came with an earlier task.
func (m *importer) complete(ctx context.Context, blobs []store.Blob) error {
	for i := range blobs {
		if blobs[i].Data != nil {
			m.hold(blobs[i])
			continue
		}
		if blobs[i].Data = m.blobs[blobs[i].Hash]; blobs[i].Data != nil {
			continue
		}
		if err := m.settle(ctx); err != nil {
			return err
		}
		var err error
		if blobs[i].Data, err = m.st.Blob(ctx, blobs[i].Hash); err != nil {
			return fmt.Errorf("blob %s, which an earlier task should have brought: %w", blobs[i].Hash, err)
		}
	}
	return nil
}

// hold keeps a blob in memory if there is space, so that the next task that needs it does not
// have to wait until it is stored.
func (m *importer) hold(b store.Blob) {
	if m.held+len(b.Data) > importBlobs {
		return
	}
	if m.blobs == nil {
		m.blobs = map[string][]byte{}
	}
	m.blobs[b.Hash] = b.Data
	m.held += len(b.Data)
}

// queue appends without waiting for the outcome, so that many tasks share a commit. It
// returns the error of an earlier append that failed.
func (m *importer) queue(ctx context.Context, a *store.Append) error {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.st.Append(a, func(err error) {
		m.mu.Lock()
		switch {
		case errors.Is(err, store.ErrDuplicate):
			m.again = append(m.again, a)
		case err != nil && m.lost == nil:
			m.lost = fmt.Errorf("task %s: %w", a.Row.ID, err)
		}
		m.mu.Unlock()
		<-m.slots
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// settle waits for queued appends, and repeats those that were refused because of a receipt.
func (m *importer) settle(ctx context.Context) error {
	for range cap(m.slots) {
		m.slots <- struct{}{}
	}
	for range cap(m.slots) {
		<-m.slots
	}
	m.mu.Lock()
	again, lost := m.again, m.lost
	m.again = nil
	m.mu.Unlock()
	if lost != nil {
		return lost
	}
	for _, a := range again {
		if err := m.without(ctx, a); err != nil {
			return fmt.Errorf("task %s: %w", a.Row.ID, err)
		}
	}
	return nil
}

// without appends, leaving out receipts whose names are already in use: by another task in
// st, or by one of the same export, if a receipt expired and was replaced during the export.
// The task itself matters more.
func (m *importer) without(ctx context.Context, a *store.Append) error {
	kept := *a
	kept.Receipts = nil
	for i := range a.Receipts {
		switch old, err := m.st.Receipt(ctx, a.Row.Key, a.Receipts[i].Name); {
		case err == nil && old.Counts(a.Receipts[i].Time):
		case err == nil || errors.Is(err, store.ErrNotFound):
			kept.Receipts = append(kept.Receipts, a.Receipts[i])
		default:
			return err
		}
	}
	return store.Do(ctx, m.st, &kept)
}

// keep imports a kept value, unless st has another one: a server that has other keys
// continues with those.
func (m *importer) keep(ctx context.Context, l *keptLine) error {
	value := either(l.Value, l.Value64)
	if value == nil {
		value = []byte{} // nil would mean no value
	}
	name := string(l.Name)
	all, err := m.st.Kept(ctx)
	if err != nil {
		return err
	}
	is, there := all[name]
	switch {
	case there && bytes.Equal(is, value):
		m.there.Kept++
		return nil
	case there:
		m.there.Other++
		return nil
	}
	if _, err = m.st.Keep(ctx, name, nil, value); err == nil {
		m.imported.Kept++
	}
	return err
}
