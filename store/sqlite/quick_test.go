package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// benchID is shaped as the engine's ids are.
func benchID(n int, ordered bool) string {
	high := rand.Uint64()
	if ordered {
		high = uint64(1_790_000_000_000+n/10)<<16 | uint64(0x7000+n%10)
	}
	s := fmt.Sprintf("%016x%016x", high, rand.Uint64())
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// quickTask is what the engine appends for a message to the demo agent.
func quickTask(n int, ordered bool) *store.Append {
	at := began.Add(time.Duration(n) * 100 * time.Microsecond)
	id, in := benchID(n, ordered), benchID(n, ordered)
	a := &store.Append{Row: store.Row{
		Key: store.Key{ID: id}, Context: in, State: 3, Updated: at, Created: at, Last: 4,
		Node: "01a21878-0df4-791e-b64e-f0a37d4ef608", Epoch: 1, Turn: 2, Attempt: 1,
	}}
	names := fmt.Sprintf(`"taskId":%q,"contextId":%q`, id, in)
	message := fmt.Sprintf(`{"messageId":%q,%s,"role":"ROLE_USER","parts":[{"text":"hello world"}]}`, benchID(n, ordered), names)
	artifact := fmt.Sprintf(`{"artifactId":%q,"name":"echo","parts":[{"text":"hello world"}]}`, benchID(n, false))
	status := fmt.Sprintf(`"status":{"state":"TASK_STATE_COMPLETED","timestamp":%q}`, at.Format("2006-01-02T15:04:05.000Z"))
	for i, body := range []string{
		"{" + names + "}", `{"message":` + message + "}",
		`{"artifactUpdate":{` + names + `,"artifact":` + artifact + `,"lastChunk":true,"generation":"2"}}`,
		`{"statusUpdate":{` + names + "," + status + `,"generation":"3"}}`,
	} {
		a.Entries = append(a.Entries, store.Entry{Seq: int64(i) + 1, Time: at, Kind: uint8(i) + 1, Body: []byte(body)})
	}
	a.Seal = &store.Seal{
		Head: fmt.Appendf(nil, `{"generation":3,"messages":1,"history":176,"metadata":392,"task":{"id":%q,"contextId":%q,%s,"history":[%s]}}`, id, in, status, message),
		Body: []byte(`{"artifacts":[` + artifact + "]}"),
	}
	return a
}

// The quick tasks of a commit are inserted together, and each that exists is refused alone,
// wherever the statements end, and whichever other appends are between them.
func TestQuickTasksTogether(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	there := quickTask(0, true)
	if errs := st.commit([]work{{append: there}}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	for n := range 100 {
		var batch []work
		var want []error
		add := func(a *store.Append, refused error) {
			batch, want = append(batch, work{append: a}), append(want, refused)
		}
		for i := range n {
			a := quickTask(1000*n+i, true)
			add(a, nil)
			if i%5 == 3 {
				add(there, store.ErrConflict)
			}
			if i%6 == 2 {
				add(a, store.ErrConflict)
			}
			if i%7 == 5 { // it goes on, which is not quick
				more := *a
				more.After, more.Epoch, more.Seal, more.Row.Active = 4, 1, nil, true
				more.Entries = []store.Entry{{Seq: 5, Time: a.Row.Updated, Kind: 4, Body: []byte("{}")}}
				add(&more, nil)
			}
		}
		for i, err := range st.commit(batch) {
			if !errors.Is(err, want[i]) {
				t.Fatalf("%d of %d: %v, want %v", i, len(batch), err, want[i])
			}
			if err != nil {
				continue
			}
			a := batch[i].append
			entries, err := st.Entries(t.Context(), a.Row.Key, a.After, 1000)
			if err != nil || len(entries) < len(a.Entries) || string(entries[0].Body) != string(a.Entries[0].Body) {
				t.Fatalf("%d of %d has %v, %v", i, len(batch), entries, err)
			}
			rec, err := st.Get(t.Context(), a.Row.Key, 1<<20)
			if err != nil || rec.Seal == nil && rec.Row.Last == 4 || rec.Seal != nil && string(rec.Seal.Body) != string(a.Seal.Body) {
				t.Fatalf("%d of %d is %v, %v", i, len(batch), rec, err)
			}
		}
	}
}

// age stores the packed tasks of a database as versions before 8 did, with a row for each
// entry, and forgets that they were packed.
func age(st *Store) error {
	type old struct {
		key, last  int64
		head, body []byte
		log        []store.Entry
	}
	return st.change(context.Background(), "age", func(c *conn) (bool, error) {
		raw, _, err := c.Prepare("SELECT key, last, head, head_size, body_size FROM task WHERE head_size IS NOT NULL")
		if err != nil {
			return false, err
		}
		defer raw.Close()
		var all []old
		err = (&stmt{s: raw}). // apart from those of the store: see TestNothingIsScanned
					each(func(r *sqlite3.Stmt) error {
				o := old{key: r.ColumnInt64(0), last: r.ColumnInt64(1)}
				piece, head, body := r.ColumnRawBlob(2), r.ColumnInt(3), r.ColumnInt(4)
				seal, err := sealOf(piece, head, body)
				if err != nil {
					return err
				}
				packed, first, err := c.logOf(piece, head+body)
				if err == nil {
					o.log, err = store.Unpack(nil, packed, first, o.last, 0)
				}
				o.head, o.body = seal.Head, seal.Body
				all = append(all, o)
				return err
			})
		for _, o := range all {
			if err != nil {
				break
			}
			st := c.stmt("UPDATE task SET head = ?, body = ?, head_size = NULL, body_size = NULL WHERE key = ?").blob(o.head)
			if len(o.body) > smallBody {
				err = st.null().int(o.key).exec()
				if err == nil {
					err = c.stmt("INSERT INTO seal (task, body) VALUES (?, ?)").int(o.key).blob(o.body).exec()
				}
			} else {
				err = st.blob(o.body).int(o.key).exec()
			}
			for _, e := range o.log {
				if err == nil {
					err = c.keepPacked(o.key, e.Seq, e.Seq, store.Pack(nil, []store.Entry{e}), 0)
				}
			}
		}
		if err == nil {
			err = c.stmt("DELETE FROM kept WHERE name = ?").text(packingName).exec()
		}
		return true, err
	})
}
