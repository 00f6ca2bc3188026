package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// An export is text, one JSON object a line:
//
//	{"parley":"export","version":1}
//	{"kept":{"name":…,"value":…}}
//	{"task":{"tenant":…,"owner":…,"id":…,…,"last":3},"seal":{"head":…,"body":…}}
//	{"blob":{"hash":…,"data":"base64"}}
//	{"receipt":{"name":…,"time":…,"until":…,"seq":1,"digest":…,"answer":…}}
//	{"push":{"id":…,"host":…,"created":…,"live":true,"cursor":2,…,"body":…}}
//	{"letter":{"push":…,"seq":1,"time":…,"tries":1,"again":false,"reason":…}}
//	{"entry":{"seq":1,"time":…,"kind":1,"body":…}}
//	…
//	{"end":{"tasks":1,"entries":3,"sha256":"…"}}
//
// The tasks are in the order of their keys, each followed by its blobs, its
// receipts, its push configs, each with its dead letters, and its log. A blob has its data where it comes first. Receipts
// without a task are left out: they count for a short time, and what they
// answer is nowhere else in the export. Bytes that are JSON stand as
// they are; others are base64, under the name with 64 behind it. The checksum
// is of all lines before the last. docs/operations.md says what each field is.

// exportVersion goes up when an older program could misread an export. It need
// not for a new kind of line, which an older program refuses, and all else with
// it; only a new member of a line that it knows would be lost in silence.
const exportVersion = 1

// Source is what an export reads: a Store, or a reader beside one.
type Source interface {
	Tasks(ctx context.Context, after *Key, limit int) ([]Row, error)
	Get(ctx context.Context, k Key, body bool) (*Record, error)
	Entries(ctx context.Context, k Key, after int64, limit int) ([]Entry, error)
	Blobs(ctx context.Context, k Key) ([]string, error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	Receipts(ctx context.Context, k Key) ([]Receipt, error)
	Pushes(ctx context.Context, k Key, after string, limit int) ([]PushConfig, error)
	DeadLetters(ctx context.Context, q LetterQuery) ([]DeadLetter, error)
	Kept(ctx context.Context) (map[string][]byte, error)
}

// aheadSource is a source to which each question is a long way: it reads all that
// an export has of some tasks at once, and returns a source that knows them.
type aheadSource interface {
	Ahead(ctx context.Context, keys []Key) (Source, error)
}

// Count is what an export holds.
type Count struct {
	Tasks, Entries int64
	Kept           int64 // what is kept under a name: the keys of webhooks
	Other          int64 // of that, what Import leaves out, for another is there
}

// Export writes all tasks of src. It holds secrets: what webhooks are delivered
// with, and the keys that sign them. Each task is whole and from one moment;
// different tasks may be from different ones, if src is written meanwhile, and
// tasks that are deleted before their turn are left out.
func Export(ctx context.Context, src Source, w io.Writer) (Count, error) {
	n, _, err := ExportSum(ctx, src, w)
	return n, err
}

// ExportSum is Export, and returns the checksum that the export ends with. Two
// stores whose exports have the same one hold the same; to compare them, w is
// io.Discard.
func ExportSum(ctx context.Context, src Source, w io.Writer) (Count, string, error) {
	x := &exporter{src: src, sum: sha256.New(), blobs: map[string]bool{}}
	x.bulk, _ = src.(aheadSource)
	x.out = bufio.NewWriterSize(w, 64<<10)
	if err := x.write(fmt.Appendf(nil, `{"parley":"export","version":%d}`+"\n", exportVersion)); err != nil {
		return x.count, "", err
	}
	if err := x.kept(ctx); err != nil {
		return x.count, "", fmt.Errorf("export what is kept: %w", err)
	}
	var after *Key
	for {
		const page = 100
		rows, err := src.Tasks(ctx, after, page)
		if err != nil {
			return x.count, "", err
		}
		for rest := rows; len(rest) > 0; {
			some := rest[:x.chunk(rest)]
			rest = rest[len(some):]
			early, err := x.ahead(ctx, some)
			if err != nil {
				return x.count, "", err
			}
			for i := range some {
				if err := x.task(ctx, some[i].Key, early(i)); err != nil {
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

// How much is read at a time: some tasks beside each other, or, by a source that
// can, many at once, as long as their logs are short.
const (
	exportAhead   = 8
	exportTasks   = 50
	exportEntries = 2000
)

// chunk is how many of rows are read next.
func (x *exporter) chunk(rows []Row) (n int) {
	if x.bulk == nil {
		return min(exportAhead, len(rows))
	}
	for entries := int64(0); n < min(exportTasks, len(rows)) && (n == 0 || entries+rows[n].Last <= exportEntries); n++ {
		entries += rows[n].Last
	}
	return n
}

// readTask is a task as it stands in the export.
type readTask struct {
	lines   []byte
	entries int
	fresh   []string // blobs whose data is in it
	err     error
}

// ahead reads tasks before their turn, and returns what gives each out in its turn.
func (x *exporter) ahead(ctx context.Context, rows []Row) (func(i int) readTask, error) {
	if x.bulk != nil {
		keys := make([]Key, len(rows))
		for i := range rows {
			keys[i] = rows[i].Key
		}
		src, err := x.bulk.Ahead(ctx, keys)
		return func(i int) readTask { return x.read(ctx, src, keys[i], false) }, err
	}
	all := make([]readTask, len(rows))
	var wg sync.WaitGroup
	for i := range rows {
		wg.Go(func() { all[i] = x.read(ctx, x.src, rows[i].Key, true) })
	}
	wg.Wait()
	return func(i int) readTask { return all[i] }, nil
}

type exporter struct {
	src   Source
	bulk  aheadSource // the same, if it can
	out   *bufio.Writer
	sum   hash.Hash
	count Count
	blobs map[string]bool // hashes whose data was written
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

// errTorn says that the task was deleted or went on between two reads.
var errTorn = errors.New("the task changes faster than it can be read")

// errEarly says that a task has blobs: before its turn it is not known whether
// they come with their data.
var errEarly = errors.New("the task has blobs")

// task writes a task, as it was read before or as it is now.
func (x *exporter) task(ctx context.Context, k Key, r readTask) error {
	for range 100 {
		switch {
		case errors.Is(r.err, errTorn) || errors.Is(r.err, errEarly):
			r = x.read(ctx, x.src, k, false) // once more, from its record on
		case errors.Is(r.err, ErrNotFound):
			return nil // deleted
		case r.err != nil:
			return r.err
		default:
			for _, h := range r.fresh {
				x.blobs[h] = true
			}
			x.count.Tasks++
			x.count.Entries += int64(r.entries)
			return x.write(r.lines)
		}
	}
	return errTorn
}

func (x *exporter) read(ctx context.Context, src Source, k Key, early bool) (r readTask) {
	r.lines, r.entries, r.fresh, r.err = x.lines(ctx, src, k, early)
	return r
}

// lines returns a task as it stands in the export, and the blobs whose data is
// in it. One with blobs cannot be early.
func (x *exporter) lines(ctx context.Context, src Source, k Key, early bool) (lines []byte, entries int, fresh []string, err error) {
	hooks, cursor, err := x.outbox(ctx, src, k)
	if err != nil {
		return nil, 0, nil, err
	}
	rec, err := src.Get(ctx, k, true)
	if err != nil {
		return nil, 0, nil, err
	}
	if cursor > rec.Last { // of a task that is gone, and began anew
		return nil, 0, nil, errTorn
	}
	log, err := src.Entries(ctx, k, 0, int(rec.Last))
	if err != nil {
		return nil, 0, nil, err
	}
	if int64(len(log)) < rec.Last {
		return nil, 0, nil, errTorn
	}
	if lines, err = appendTask(nil, rec); err != nil {
		return nil, 0, nil, err
	}
	hashes, err := src.Blobs(ctx, k)
	if early && len(hashes) > 0 {
		return nil, 0, nil, errEarly
	}
	for _, h := range hashes {
		var data []byte
		if err == nil && !x.blobs[h] {
			if data, err = src.Blob(ctx, h); errors.Is(err, ErrNotFound) {
				err = errTorn
			}
			fresh = append(fresh, h)
		}
		if err != nil {
			return nil, 0, nil, err
		}
		lines = append(lines, `{"blob":{"hash":`...)
		lines = appendJSON(lines, text(h))
		if !x.blobs[h] {
			lines = append(lines, `,"data":"`...)
			lines = base64.StdEncoding.AppendEncode(lines, data)
			lines = append(lines, '"')
		}
		lines = append(lines, "}}\n"...)
	}
	if err != nil {
		return nil, 0, nil, err
	}
	signed, err := src.Receipts(ctx, k)
	if err != nil {
		return nil, 0, nil, err
	}
	for i := range signed {
		if signed[i].Seq <= rec.Last { // the task may have gone on since its record was read
			lines = appendReceipt(lines, &signed[i])
		}
	}
	lines = append(lines, hooks...)
	for i := range log {
		lines = appendEntry(lines, &log[i])
	}
	return lines, len(log), fresh, nil
}

// exportRow is a row in an export.
type exportRow struct {
	Tenant  text      `json:"tenant"`
	Owner   text      `json:"owner"`
	ID      text      `json:"id"`
	Context text      `json:"context"`
	State   int32     `json:"state"`
	Updated time.Time `json:"updated"`
	Created time.Time `json:"created"`
	Last    int64     `json:"last"`
	Active  bool      `json:"active"`
	Node    text      `json:"node"`
	Epoch   int64     `json:"epoch"`
	Lost    int32     `json:"lost"`
	Turn    int64     `json:"turn"`
	Attempt int32     `json:"attempt"`
}

func (r *exportRow) row() Row {
	return Row{
		Key:     Key{Tenant: string(r.Tenant), Owner: string(r.Owner), ID: string(r.ID)},
		Context: string(r.Context), State: r.State, Updated: Milli(r.Updated), Created: Milli(r.Created), Last: r.Last,
		Active: r.Active, Node: string(r.Node), Epoch: r.Epoch, Lost: r.Lost, Turn: r.Turn, Attempt: r.Attempt,
	}
}

func appendTask(dst []byte, rec *Record) ([]byte, error) {
	r := &rec.Row
	row, err := json.Marshal(&exportRow{
		text(r.Tenant), text(r.Owner), text(r.ID), text(r.Context), r.State, r.Updated, r.Created, r.Last,
		r.Active, text(r.Node), r.Epoch, r.Lost, r.Turn, r.Attempt,
	})
	if err != nil {
		return nil, err
	}
	dst = append(append(dst, `{"task":`...), row...)
	if rec.Seal != nil {
		dst = append(dst, `,"seal":{`...)
		dst = append(appendBytes(dst, "head", rec.Seal.Head), ',')
		dst = append(appendBytes(dst, "body", rec.Seal.Body), '}')
	}
	return append(dst, "}\n"...), nil
}

func appendEntry(dst []byte, e *Entry) []byte {
	dst = append(dst, `{"entry":{"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"time":`...)
	dst = appendJSON(dst, e.Time)
	dst = append(dst, `,"kind":`...)
	dst = strconv.AppendUint(dst, uint64(e.Kind), 10)
	dst = append(dst, ',')
	dst = appendBytes(dst, "body", e.Body)
	return append(dst, "}}\n"...)
}

func appendReceipt(dst []byte, r *Receipt) []byte {
	dst = append(dst, `{"receipt":{"name":`...)
	dst = appendJSON(dst, text(r.Name))
	dst = append(dst, `,"time":`...)
	dst = appendJSON(dst, r.Time)
	dst = append(dst, `,"until":`...)
	dst = appendJSON(dst, r.Until)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, r.Seq, 10)
	dst = append(dst, ',')
	dst = append(appendBytes(dst, "digest", r.Digest), ',')
	dst = appendBytes(dst, "answer", r.Answer)
	return append(dst, "}}\n"...)
}

// appendBytes writes a member whose value comes back byte for byte.
func appendBytes(dst []byte, name string, b []byte) []byte {
	if plain(b) {
		return append(append(append(append(dst, '"'), name...), `":`...), b...)
	}
	dst = append(append(append(dst, '"'), name...), `64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}

// plain reports whether bytes are JSON that fits a line and is read as it was
// written.
func plain(b []byte) bool {
	return json.Valid(b) && utf8.Valid(b) && !bytes.ContainsAny(b, "\n\r") && len(bytes.TrimSpace(b)) == len(b)
}

// appendJSON is for values that cannot fail.
func appendJSON(dst []byte, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // a time beyond the year 9999: no log has it
		b = []byte("null")
	}
	return append(dst, b...)
}

// text is a string that need not be UTF-8: then it is {"base64":…}.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var v struct {
			Base64 []byte `json:"base64"`
		}
		err := json.Unmarshal(b, &v)
		*t = text(v.Base64)
		return err
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = text(s)
	return err
}
