package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

// small is an export with each kind of line, as the first version wrote it. Every later
// version can import an export.
func small(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/small.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func memory(t testing.TB) *store.Memory {
	m := store.NewMemory()
	t.Cleanup(func() { m.Close() })
	return m
}

func export(t testing.TB, src archive.Source) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, _, err := archive.Export(t.Context(), src, &out); err != nil {
		t.Fatalf("export: %v", err)
	}
	return out.Bytes()
}

func importInto(t testing.TB, st store.Store, text []byte) (archive.Imported, error) {
	return archive.Import(t.Context(), st, bytes.NewReader(text), false)
}

func TestExportsStayAsTheyAre(t *testing.T) {
	m := memory(t)
	got, err := importInto(t, m, small(t))
	if want := (archive.Count{Tasks: 2, Entries: 6, Kept: 1}); err != nil || got.New != want {
		t.Fatalf("import: %+v, %v", got, err)
	}
	if again := export(t, m); !bytes.Equal(again, small(t)) {
		t.Errorf("the export of the import differs:\n%s", again)
	}
}

// An export that is changed or cut anywhere is refused, and nothing of it
// is imported.
func TestImportRefusesDamage(t *testing.T) {
	text := small(t)
	refused := func(what string, i int, text []byte) {
		t.Helper()
		m := store.NewMemory()
		defer m.Close()
		if _, err := importInto(t, m, text); err == nil {
			t.Errorf("%s at %d was imported", what, i)
		}
		if rows, _ := m.Tasks(t.Context(), nil, 9); len(rows) > 0 {
			t.Errorf("%s at %d: %d tasks were imported", what, i, len(rows))
		}
	}
	for i := range text {
		refused("a cut", i, text[:i])
		changed := bytes.Clone(text)
		changed[i] ^= 1
		refused("a change", i, changed)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i := range lines {
		if lines[i] != "" {
			refused("a lost line", i, []byte(strings.Join(append(lines[:i:i], lines[i+1:]...), "")))
			refused("a line twice", i, []byte(strings.Join(append(append(lines[:i+1:i+1], lines[i]), lines[i+1:]...), "")))
		}
	}
	refused("a version to come", 0, bytes.Replace(text, []byte(`"version":1`), []byte(`"version":2`), 1))
	refused("nothing", 0, nil)
	refused("something behind the end", 0, append(bytes.Clone(text), '\n'))
}

// noneAhead is a source that can read ahead, but has no space for any task.
type noneAhead struct{ archive.Source }

func (noneAhead) Ahead(context.Context, []store.Key) (map[store.Key]*store.Task, error) {
	return nil, nil
}

// If a source reads no tasks ahead, each is read in its turn.
func TestExportReadsWhatWasLeftOut(t *testing.T) {
	m := memory(t)
	if _, err := importInto(t, m, small(t)); err != nil {
		t.Fatal(err)
	}
	if got := export(t, noneAhead{m}); !bytes.Equal(got, small(t)) {
		t.Errorf("the export differs:\n%s", got)
	}
}

// goingOn is a source in which a task grows once while it is exported.
type goingOn struct {
	archive.Source
	next func()
}

func (g *goingOn) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	if g.next != nil {
		g.next()
		g.next = nil
	}
	return g.Source.Receipts(ctx, k)
}

// A task is exported as of one moment, with the receipts that it had then.
func TestExportedReceiptsAreOfTheirMoment(t *testing.T) {
	m := memory(t)
	now := time.Date(2026, 11, 21, 9, 8, 7, 0, time.UTC)
	k := store.Key{Tenant: "tenant", Owner: "owner", ID: "a"}
	step := func(seq int64) {
		err := store.Do(t.Context(), m, &store.Append{
			Row: store.Row{Key: k, State: 1, Updated: now, Created: now}, After: seq - 1,
			Entries:  []store.Entry{{Seq: seq, Time: now, Kind: 1}},
			Receipts: []store.Receipt{{Name: time.Duration(seq).String(), Time: now, Until: now.Add(time.Hour), Seq: seq}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	step(1)
	n := memory(t)
	if _, err := importInto(t, n, export(t, &goingOn{m, func() { step(2) }})); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		st   store.Store
		want int
	}{"as exported": {n, 1}, "by now": {m, 2}} {
		if rs, err := c.st.Receipts(t.Context(), k); err != nil || len(rs) != c.want {
			t.Errorf("%s: %d receipts, %v; want %d", what, len(rs), err, c.want)
		}
	}
}

// bornAgain is a source in which a task is deleted and created again, once, before its log is
// read.
type bornAgain struct {
	archive.Source
	again func()
}

func (b *bornAgain) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	if b.again != nil {
		b.again()
		b.again = nil
	}
	return b.Source.Entries(ctx, k, after, limit)
}

// The row and the log of an exported task belong to the same task, even if another one with
// its name replaces it.
func TestExportedLogIsOfItsRow(t *testing.T) {
	m := memory(t)
	now := time.Date(2026, 11, 21, 9, 8, 7, 0, time.UTC)
	k := store.Key{Tenant: "tenant", Owner: "owner", ID: "a"}
	begin := func(kind uint8, at time.Time, n int64) {
		a := &store.Append{Row: store.Row{Key: k, State: int32(kind), Updated: at, Created: at}}
		for seq := range n {
			a.Entries = append(a.Entries, store.Entry{Seq: seq + 1, Time: at, Kind: kind})
		}
		if err := store.Do(t.Context(), m, a); err != nil {
			t.Fatal(err)
		}
	}
	begin(1, now, 2)
	n := memory(t)
	text := export(t, &bornAgain{m, func() {
		r, err := m.Get(t.Context(), k, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := m.Delete(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		begin(2, now.Add(time.Second), 3)
	}})
	if _, err := importInto(t, n, text); err != nil {
		t.Fatal(err)
	}
	r, err := n.Get(t.Context(), k, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	log, err := n.Entries(t.Context(), k, 0, 0)
	if err != nil || int32(log[0].Kind) != r.State {
		t.Errorf("a row of task %d with the log of task %d: %v", r.State, log[0].Kind, err)
	}
}

// replacedBehindPushes is a source in which a task is deleted and created again, once, after
// its webhooks were read.
type replacedBehindPushes struct {
	archive.Source
	again func()
}

func (b *replacedBehindPushes) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	found, err := b.Source.Pushes(ctx, k, after, limit)
	if b.again != nil {
		b.again()
		b.again = nil
	}
	return found, err
}

// The webhooks of an exported task are its own, not those of a deleted task of its name.
func TestExportedWebhooksAreOfTheirTask(t *testing.T) {
	m := memory(t)
	now := time.Date(2026, 11, 21, 9, 8, 7, 0, time.UTC)
	k := store.Key{Tenant: "tenant", Owner: "owner", ID: "a"}
	begin := func(hook string, at time.Time) {
		err := store.Do(t.Context(), m, &store.Append{
			Row:     store.Row{Key: k, State: 1, Updated: at, Created: at},
			Entries: []store.Entry{{Seq: 1, Time: at, Kind: 1}},
			Pushes:  []store.PushConfig{{ID: hook, Host: hook, Created: at, Live: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	begin("old", now)
	n := memory(t)
	text := export(t, &replacedBehindPushes{m, func() {
		r, err := m.Get(t.Context(), k, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := m.Delete(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		begin("new", now.Add(time.Second))
	}})
	if _, err := importInto(t, n, text); err != nil {
		t.Fatal(err)
	}
	hooks, err := n.Pushes(t.Context(), k, "", 9)
	if err != nil || len(hooks) != 1 || hooks[0].ID != "new" {
		t.Errorf("webhooks %+v, %v; want the one of the new task", hooks, err)
	}
}

// FuzzImport: Import never panics, a refused export changes nothing, and an imported one is
// exported the same way again.
func FuzzImport(f *testing.F) {
	f.Add(small(f))
	f.Add([]byte(`{"parley":"export","version":1}` + "\n" + `{"end":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := memory(t)
		if _, err := importInto(t, m, text); err != nil {
			if rows, _ := m.Tasks(t.Context(), nil, 9); len(rows) > 0 {
				t.Errorf("refused with %v, and yet there are tasks", err)
			}
			return
		}
		if _, err := importInto(t, memory(t), export(t, m)); err != nil {
			t.Errorf("its export cannot be imported: %v", err)
		}
	})
}

// TestDeepEntries: JSON with the deepest possible nesting is imported as it was exported.
func TestDeepEntries(t *testing.T) {
	m := memory(t)
	k := store.Key{ID: "deep"}
	a := &store.Append{Row: store.Row{Key: k, State: 1}}
	for seq := int64(1); seq <= 3; seq++ {
		levels := 9_997 + int(seq) // a line has two more
		a.Entries = append(a.Entries, store.Entry{Seq: seq, Body: []byte(strings.Repeat("[", levels) + strings.Repeat("]", levels))})
	}
	if err := store.Do(t.Context(), m, a); err != nil {
		t.Fatal(err)
	}
	to := memory(t)
	if _, err := importInto(t, to, export(t, m)); err != nil {
		t.Fatal(err)
	}
	got, err := to.Entries(t.Context(), k, 0, 0)
	if err != nil || len(got) != len(a.Entries) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	for i := range got {
		if !bytes.Equal(got[i].Body, a.Entries[i].Body) {
			t.Errorf("entry %d is another one", i+1)
		}
	}
}

// narrow is a store that takes only so many bytes at once, as databases do.
type narrow struct {
	store.Store
	most int
	left int // appends that it takes
}

func (n *narrow) Append(a *store.Append, done func(error)) {
	if n.left--; a.Size() > n.most || n.left < 0 {
		go done(errors.New("too much"))
		return
	}
	n.Store.Append(a, done)
}

// TestImportOfManyFiles: the files of a task, added one after the other, are imported into a
// store that would not take them at once, also after an interrupted import.
func TestImportOfManyFiles(t *testing.T) {
	const n, size = 3, 5 << 20
	m, k := memory(t), store.Key{ID: "files"}
	for i := range n {
		a := &store.Append{
			Row: store.Row{Key: k, State: 1}, After: int64(i), Entries: []store.Entry{{Seq: int64(i + 1)}},
			Blobs: []store.Blob{{Hash: strconv.Itoa(i), Data: bytes.Repeat([]byte{byte(i)}, size)}},
		}
		if err := store.Do(t.Context(), m, a); err != nil {
			t.Fatal(err)
		}
	}
	text := export(t, m)
	to := &narrow{memory(t), 2 * size, 2}
	if _, err := importInto(t, to, text); err == nil {
		t.Fatal("an import that was cut off went on")
	}
	to.left = n
	if _, err := importInto(t, to, text); err != nil {
		t.Fatal(err)
	}
	if again := export(t, to); !bytes.Equal(again, text) {
		t.Error("the export of the import differs")
	}
}

// slow is a source whose tasks take a moment to read. It counts concurrent reads.
type slow struct {
	*store.Memory
	now, most atomic.Int32
}

func (s *slow) Blobs(ctx context.Context, k store.Key) ([]string, error) {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	s.most.Store(max(s.most.Load(), now))
	time.Sleep(time.Second)
	return s.Memory.Blobs(ctx, k)
}

// TestLargeTasksAreExportedOneByOne: tasks are read ahead unless they are large, because
// several of those might not fit into memory.
func TestLargeTasksAreExportedOneByOne(t *testing.T) {
	for _, c := range []struct{ size, want int }{{1 << 10, 8}, {2 << 20, 1}} {
		synctest.Test(t, func(t *testing.T) {
			src := &slow{Memory: memory(t)}
			for i := range 8 {
				k := store.Key{ID: strconv.Itoa(i)}
				a := &store.Append{Row: store.Row{Key: k, State: 1}, Entries: []store.Entry{{Seq: 1, Body: make([]byte, c.size)}}}
				if err := store.Do(t.Context(), src, a); err != nil {
					t.Fatal(err)
				}
			}
			count, _, err := archive.Export(t.Context(), src, io.Discard)
			if err != nil || count.Tasks != 8 || src.most.Load() != int32(c.want) {
				t.Errorf("%d tasks of %d bytes, %d at once, want %d: %v", count.Tasks, c.size, src.most.Load(), c.want, err)
			}
			src.Close()
		})
	}
}
