package store

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
	"sync"
	"time"
)

// Import puts the tasks of an export into st. It reads twice: first it checks
// the whole, its checksum, and that no task is in st already, unless it is the
// same in all it is. Only then does it write, so that an export that is damaged
// or does not fit changes nothing. An import that was cut off is simply run
// again; until then st says so, see ImportMark.
//
// Tasks that were at work go on where st is served next, and so do deliveries to
// webhooks. They are signed with the keys of the export, unless st has others.
func Import(ctx context.Context, st Store, r io.ReadSeeker) (imported, there Count, err error) {
	in, err := ImportInto(ctx, st, r, false)
	return in.New, in.There, err
}

// Imported is what came of an import.
type Imported struct {
	New, There Count  // of the export, what was imported and what had been there
	Sum        string // its checksum
}

// ImportMark is the name under which a store keeps, while an import is not
// finished, the checksum of its export.
const ImportMark = "import"

// ErrImporting says that a store has a part of an import.
var ErrImporting = errors.New("an import of another export was not finished: run that one again first")

// ErrNotEmpty says that a store has tasks that it ought not to have.
var ErrNotEmpty = errors.New("there are tasks already; nothing is changed: import into a database that has none")

// ImportInto is Import. If fresh is set it refuses a store that has tasks, but
// those that the same import brought before it was cut off.
func ImportInto(ctx context.Context, st Store, r io.ReadSeeker, fresh bool) (Imported, error) {
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
	mark := kept[ImportMark]
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
	if now, err := st.Keep(ctx, ImportMark, nil, sum); err != nil {
		return Imported{}, err
	} else if !bytes.Equal(now, sum) { // at this moment
		return Imported{}, ErrImporting
	}
	m := &importer{st: st, empty: empty, slots: make(chan struct{}, importAhead), lost: make(chan error, 1)}
	err = m.run(ctx, r, m.put, m.keep)
	if settled := m.settle(ctx); err == nil {
		err = settled
	}
	if err == nil {
		_, err = st.Keep(ctx, ImportMark, sum, nil)
	}
	return Imported{m.imported, m.there, check.sum}, err
}

// Compare reads an export and says whether all its tasks are in st as they are
// in it. What becomes of deliveries and receipts meanwhile does not count.
func Compare(ctx context.Context, st Store, r io.ReadSeeker) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	m := &importer{st: st}
	return m.run(ctx, r, func(ctx context.Context, a *archived) error {
		_, whole, err := m.present(ctx, a)
		if err == nil && !whole {
			err = errors.New("it is not there, or not whole")
		}
		return err
	}, nil)
}

const (
	// importing is the node of a task whose log is not all there yet.
	importing = "import not finished"

	importAhead   = 256     // tasks on their way to the disk
	importEntries = 1024    // per append
	importBytes   = 8 << 20 // per append, about

	importBlobs = 32 << 20 // bytes of blobs that are held for tasks to come
)

// archived is a task in an export.
type archived struct {
	row   Row
	seal  *Seal
	blobs []Blob // without data where it came before
	signs []Receipt

	pushes  []PushConfig
	letters []DeadLetter
	log     []Entry
}

type importer struct {
	st              Store
	empty           bool   // it has no tasks but those that are put into it
	sum             string // of the export, when all of it was read
	imported, there Count

	blobs map[string][]byte // some that came, by hash
	held  int               // bytes of them

	slots chan struct{}
	lost  chan error // capacity one: the first append that failed

	mu    sync.Mutex
	again []*Append // refused for a receipt; protected by mu
}

// line is any line of an export.
type line struct {
	Parley  string     `json:"parley"`
	Version int        `json:"version"`
	Task    *exportRow `json:"task"`
	Seal    *struct {
		Head   json.RawMessage `json:"head"`
		Head64 []byte          `json:"head64"`
		Body   json.RawMessage `json:"body"`
		Body64 []byte          `json:"body64"`
	} `json:"seal"`
	Blob *struct {
		Hash text    `json:"hash"`
		Data *[]byte `json:"data"`
	} `json:"blob"`
	Receipt *struct {
		Name     text            `json:"name"`
		Time     time.Time       `json:"time"`
		Until    time.Time       `json:"until"`
		Seq      int64           `json:"seq"`
		Digest   json.RawMessage `json:"digest"`
		Digest64 []byte          `json:"digest64"`
		Answer   json.RawMessage `json:"answer"`
		Answer64 []byte          `json:"answer64"`
	} `json:"receipt"`
	Kept   *keptLine   `json:"kept"`
	Push   *pushLine   `json:"push"`
	Letter *letterLine `json:"letter"`
	Entry  *struct {
		Seq    int64           `json:"seq"`
		Time   time.Time       `json:"time"`
		Kind   uint8           `json:"kind"`
		Body   json.RawMessage `json:"body"`
		Body64 []byte          `json:"body64"`
	} `json:"entry"`
	End *struct {
		Tasks   int64  `json:"tasks"`
		Entries int64  `json:"entries"`
		SHA256  string `json:"sha256"`
	} `json:"end"`
}

// run reads an export and calls each for every task, and keep, unless it is nil,
// for what is kept.
func (m *importer) run(ctx context.Context, r io.Reader, each func(context.Context, *archived) error, keep func(context.Context, *keptLine) error) error {
	in, sum := bufio.NewReaderSize(r, 64<<10), sha256.New()
	var count Count
	var task *archived
	names := map[text]bool{}
	finish := func() error {
		if task == nil {
			return nil
		}
		if int64(len(task.log)) != task.row.Last || task.row.Last < 1 {
			return fmt.Errorf("import: task %s has %d entries, its row says %d", task.row.ID, len(task.log), task.row.Last)
		}
		if err := task.checkReceipts(); err != nil {
			return fmt.Errorf("import: task %s: %w", task.row.ID, err)
		}
		if err := task.checkPushes(); err != nil {
			return fmt.Errorf("import: task %s: %w", task.row.ID, err)
		}
		count.Tasks++
		count.Entries += task.row.Last
		if err := each(ctx, task); err != nil {
			return fmt.Errorf("import: task %s: %w", task.row.ID, err)
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
				return errors.New("import: this is no export of parley")
			}
			if l.Version != exportVersion {
				return fmt.Errorf("import: the export is of version %d, this program knows %d", l.Version, exportVersion)
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
			if task != nil && task.row.Key.Compare(next.row.Key) >= 0 {
				return fmt.Errorf("import: line %d has a task out of order, or twice", n)
			}
			task = next
		case l.Kept != nil:
			if task != nil || !l.Kept.known() || names[l.Kept.Name] {
				return fmt.Errorf("import: line %d keeps %q, which is not known, or comes twice, or behind a task", n, l.Kept.Name)
			}
			names[l.Kept.Name] = true
			if keep != nil {
				if err := keep(ctx, l.Kept); err != nil {
					return fmt.Errorf("import: what is kept: %w", err)
				}
			}
		case task == nil:
			return fmt.Errorf("import: line %d belongs to no task", n)
		case l.Blob != nil:
			b := Blob{Hash: string(l.Blob.Hash)}
			if l.Blob.Data != nil {
				b.Data = *l.Blob.Data // empty is not nil
			}
			task.blobs = append(task.blobs, b)
		case l.Receipt != nil:
			r := l.Receipt
			task.signs = append(task.signs, Receipt{
				Name: string(r.Name), Time: Milli(r.Time), Until: Milli(r.Until), Seq: r.Seq,
				Digest: either(r.Digest, r.Digest64), Answer: either(r.Answer, r.Answer64),
			})
		case l.Push != nil:
			task.pushes = append(task.pushes, l.Push.push(task.row.Key))
		case l.Letter != nil:
			task.letters = append(task.letters, l.Letter.letter(task.row.Key))
		case l.Entry != nil:
			e := Entry{Seq: l.Entry.Seq, Time: Milli(l.Entry.Time), Kind: l.Entry.Kind, Body: either(l.Entry.Body, l.Entry.Body64)}
			if e.Seq != int64(len(task.log))+1 {
				return fmt.Errorf("import: line %d has entry %d where %d must be", n, e.Seq, len(task.log)+1)
			}
			task.log = append(task.log, e)
		default:
			return fmt.Errorf("import: line %d is of no known kind", n)
		}
		sum.Write(b)
	}
}

func (l *line) task() *archived {
	a := &archived{row: l.Task.row()}
	if s := l.Seal; s != nil {
		a.seal = &Seal{Head: either(s.Head, s.Head64), Body: either(s.Body, s.Body64)}
	}
	return a
}

// either returns bytes that are written in one of two forms.
func either(plain json.RawMessage, encoded []byte) []byte {
	if plain != nil {
		return plain
	}
	return encoded
}

// present says how much of a task st has: the seq of its last entry, and
// whether it is all that it is. A task that differs is an error.
func (m *importer) present(ctx context.Context, a *archived) (last int64, whole bool, err error) {
	if m.empty { // and each task comes once
		return 0, false, nil
	}
	rec, err := m.st.Get(ctx, a.row.Key, true)
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	log, err := m.st.Entries(ctx, a.row.Key, 0, 0)
	if err != nil {
		return 0, false, err
	}
	whole = rec.Row == a.row
	if !whole && rec.Node != importing || len(log) > len(a.log) {
		return 0, false, errDiffers
	}
	for i := range log {
		if w := &a.log[i]; log[i].Kind != w.Kind || !log[i].Time.Equal(w.Time) || !bytes.Equal(log[i].Body, w.Body) {
			return 0, false, errDiffers
		}
	}
	if whole && !sameSeal(rec.Seal, a.seal) {
		return 0, false, errDiffers
	}
	if err := m.sameReceipts(ctx, a); err != nil {
		return 0, false, err
	}
	return rec.Last, whole, m.samePushes(ctx, a)
}

func sameSeal(a, b *Seal) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Head, b.Head) && bytes.Equal(a.Body, b.Body)
}

var errDiffers = errors.New("there is another task of this name; nothing is overwritten: import into a fresh directory, or delete that task first")

// fits is the first reading: it changes nothing.
func (m *importer) fits(ctx context.Context, a *archived) error {
	_, _, err := m.present(ctx, a)
	return err
}

// put is the second reading.
func (m *importer) put(ctx context.Context, a *archived) error {
	at, whole, err := m.present(ctx, a)
	if err != nil {
		return err
	}
	if whole {
		m.there.Tasks++
		m.there.Entries += a.row.Last
		return nil
	}
	if err := m.complete(ctx, a.blobs); err != nil {
		return err
	}
	m.imported.Tasks++
	m.imported.Entries += a.row.Last
	for first := at; ; first = at {
		size := 0
		for at < a.row.Last && at-first < importEntries && (at == first || size < importBytes) {
			size += len(a.log[at].Body)
			at++
		}
		next := &Append{Row: a.row, After: first, Epoch: a.row.Epoch, Entries: a.log[first:at]}
		if first == 0 {
			next.Blobs, next.Receipts = a.blobs, a.signs
		}
		if at == a.row.Last {
			next.Seal = a.seal
			// With the last of it: nobody delivers what may be a part of the log.
			next.Pushes, next.Letters = a.pushes, a.letters
			return m.queue(ctx, next)
		}
		next.Row.Node, next.Row.Active = importing, false
		err := Do(ctx, m.st, next)
		if errors.Is(err, ErrDuplicate) {
			err = m.without(ctx, next)
		}
		if err != nil {
			return err
		}
	}
}

// complete fetches the content of blobs that came with an earlier task.
func (m *importer) complete(ctx context.Context, blobs []Blob) error {
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

// hold keeps a blob, as long as there is room, so that who needs it next need not
// wait until it is stored.
func (m *importer) hold(b Blob) {
	if m.held+len(b.Data) > importBlobs {
		return
	}
	if m.blobs == nil {
		m.blobs = map[string][]byte{}
	}
	m.blobs[b.Hash] = b.Data
	m.held += len(b.Data)
}

// queue appends without waiting, so that many tasks share a commit.
func (m *importer) queue(ctx context.Context, a *Append) error {
	select {
	case m.slots <- struct{}{}:
	case err := <-m.lost:
		m.lost <- err
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.st.Append(a, func(err error) {
		switch {
		case errors.Is(err, ErrDuplicate):
			m.mu.Lock()
			m.again = append(m.again, a)
			m.mu.Unlock()
		case err != nil:
			select {
			case m.lost <- fmt.Errorf("task %s: %w", a.Row.ID, err):
			default:
			}
		}
		<-m.slots
	})
	return nil
}

// settle waits for what is on its way, and does again what was refused for a
// receipt.
func (m *importer) settle(ctx context.Context) error {
	for range cap(m.slots) {
		m.slots <- struct{}{}
	}
	for range cap(m.slots) {
		<-m.slots
	}
	select {
	case err := <-m.lost:
		m.lost <- err
		return err
	default:
	}
	m.mu.Lock()
	again := m.again
	m.again = nil
	m.mu.Unlock()
	for _, a := range again {
		if err := m.without(ctx, a); err != nil {
			return fmt.Errorf("task %s: %w", a.Row.ID, err)
		}
	}
	return nil
}
