package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/store"
)

// Source is what an export reads: a store.Store, or a reader that works beside one.
type Source interface {
	Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error)
	Get(ctx context.Context, k store.Key, most int64) (*store.Record, error)
	Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error)
	Blobs(ctx context.Context, k store.Key) ([]string, error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error)
	Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error)
	DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error)
	Kept(ctx context.Context) (map[string][]byte, error)
}

// aheadSource is a source with slow calls, such as a database server: it can read several
// tasks at once, each as of one moment. It leaves out tasks that do not exist, and tasks that
// would take too much memory.
type aheadSource interface {
	Ahead(ctx context.Context, keys []store.Key) (map[store.Key]*store.Task, error)
}

// Count counts the content of an export.
type Count struct {
	Tasks, Entries int64
	Kept           int64 // values kept by name: the keys of webhooks
	Other          int64 // of these, the ones that Import leaves out because the store has another value
}

// Export writes all tasks of src and returns the checksum at the end of the export. Two
// stores whose exports have the same checksum have the same content; to compare stores, let w
// be io.Discard.
//
// An export contains secrets: the credentials of webhooks, and the keys that sign deliveries.
// Each task is whole and as of one moment. Different tasks may be as of different moments, if
// src is written meanwhile, and tasks that are deleted before their turn are left out.
func Export(ctx context.Context, src Source, w io.Writer) (count Count, sum string, err error) {
	x := &exporter{src: src, sum: sha256.New(), blobs: map[string]bool{}}
	atOnce := exportAhead
	if x.bulk, _ = src.(aheadSource); x.bulk != nil {
		atOnce = exportTasks
	}
	x.out = bufio.NewWriterSize(w, 64<<10)
	if err := x.write(fmt.Appendf(nil, `{"parley":"export","version":%d}`+"\n", version)); err != nil {
		return x.count, "", err
	}
	if err := x.kept(ctx); err != nil {
		return x.count, "", fmt.Errorf("export what is kept: %w", err)
	}
	var after *store.Key
	for {
		const page = 100
		rows, err := src.Tasks(ctx, after, page)
		if err != nil {
			return x.count, "", err
		}
		for some := range slices.Chunk(rows, atOnce) {
			early, err := x.ahead(ctx, some)
			if err != nil {
				return x.count, "", err
			}
			for i := range some {
				if err := x.task(ctx, some[i].Key, early[i]); err != nil {
					return x.count, "", fmt.Errorf("export task %s: %w", some[i].ID, err)
				}
				after = &some[i].Key
			}
		}
		if len(rows) < page {
			sum := hex.EncodeToString(x.sum.Sum(nil))
			return x.count, sum, x.end(sum)
		}
	}
}

// How many tasks are read at once: concurrently, or by one call of an aheadSource.
const (
	exportAhead = 8
	exportTasks = 50

	exportLarge = 1 << 20 // bytes; larger tasks are read only when their turn comes
)

// outcome is the result of reading a task. The zero value means that it was not read yet.
type outcome struct {
	task *store.Task
	err  error
}

// ahead reads tasks before their turn.
func (x *exporter) ahead(ctx context.Context, rows []store.Row) ([]outcome, error) {
	all := make([]outcome, len(rows))
	if x.bulk == nil {
		var wg sync.WaitGroup
		for i := range rows {
			wg.Go(func() { all[i].task, all[i].err = read(ctx, x.src, rows[i].Key, exportLarge) })
		}
		wg.Wait()
		return all, nil
	}
	keys := make([]store.Key, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
	}
	found, err := x.bulk.Ahead(ctx, keys)
	for i, k := range keys {
		all[i].task = found[k]
	}
	return all, err
}

type exporter struct {
	src   Source
	bulk  aheadSource // src, if it can read ahead
	out   *bufio.Writer
	sum   hash.Hash
	count Count
	blobs map[string]bool // hashes of the blobs whose data was written
}

func (x *exporter) write(lines []byte) error {
	x.sum.Write(lines)
	_, err := x.out.Write(lines)
	return err
}

func (x *exporter) end(sum string) error {
	end := fmt.Appendf(nil, `{"end":{"tasks":%d,"entries":%d,"sha256":"%s"}}`+"\n", x.count.Tasks, x.count.Entries, sum)
	if _, err := x.out.Write(end); err != nil {
		return err
	}
	return x.out.Flush()
}

// kept writes the only value that an export has of those kept by name.
func (x *exporter) kept(ctx context.Context) error {
	all, err := x.src.Kept(ctx)
	b, ok := all[store.WebhookKeys]
	if !ok || err != nil {
		return err
	}
	x.count.Kept++
	var l lines
	l.add("kept", &keptLine{Name: store.WebhookKeys}, member{"value", b})
	if l.err != nil {
		return l.err
	}
	return x.write(l.text)
}

// errTorn means that the task was deleted or changed between two reads.
var errTorn = errors.New("the task changes faster than it can be read")

// task writes a task as it was read ahead, or reads it now.
func (x *exporter) task(ctx context.Context, k store.Key, o outcome) error {
	for range 100 {
		if o == (outcome{}) {
			o.task, o.err = read(ctx, x.src, k, store.Whole)
		}
		if o.err == nil {
			o.err = x.whole(ctx, o.task)
		}
		switch {
		case errors.Is(o.err, errTorn):
			o = outcome{}
		case errors.Is(o.err, store.ErrNotFound):
			return nil // deleted
		default:
			return o.err
		}
	}
	return errTorn
}

// whole writes a task, including the data of blobs that were not written before.
func (x *exporter) whole(ctx context.Context, t *store.Task) error {
	data := map[string][]byte{}
	for _, b := range t.Blobs {
		if x.blobs[b.Hash] {
			continue
		}
		d, err := x.src.Blob(ctx, b.Hash)
		if errors.Is(err, store.ErrNotFound) {
			return errTorn
		}
		if err != nil {
			return err
		}
		data[b.Hash] = append([]byte{}, d...) // not nil, which means written before
	}
	var l lines
	l.task(t, data)
	if l.err != nil {
		return l.err
	}
	for h := range data {
		x.blobs[h] = true
	}
	x.count.Tasks++
	x.count.Entries += int64(len(t.Log))
	return x.write(l.text)
}
