package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// chunks sets the size of chunks for a test.
func chunks(t testing.TB, size int) {
	was := maxChunk
	maxChunk = size
	t.Cleanup(func() { maxChunk = was })
}

// A store with values in chunks passes the suite.
func TestStoreInChunks(t *testing.T) {
	chunks(t, 1<<10)
	storetest.RunAreas(t, file, "log", "sizes", "retention", "random-operations")
}

// random is content of which no two parts are the same.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// big returns an append in which every value is large: two entries with a small one between
// them, a blob and a seal.
func big(id string) *store.Append {
	a := task(id, 0)
	for i, n := range []int{3 * maxChunk, 10, maxChunk + 1, 1, 40, maxChunk - 3} {
		if i >= len(a.Entries) {
			a.Entries = append(a.Entries, store.Entry{Seq: int64(i) + 1, Time: began, Kind: 1})
		}
		a.Entries[i].Body = random(n)
	}
	a.Blobs = []store.Blob{{Hash: id, Data: random(2*maxChunk + 7)}, {Hash: "small", Data: []byte("small")}}
	a.Seal = &store.Seal{Head: []byte("head"), Body: random(maxChunk + 9)}
	return a
}

// sameAs compares the stored task with the appends that made it.
func sameAs(t *testing.T, st interface {
	store.Log
	store.Index
}, want ...*store.Append) {
	t.Helper()
	k, last := want[0].Row.Key, want[len(want)-1]
	var log []store.Entry
	for _, a := range want {
		log = append(log, a.Entries...)
		for i := range a.Blobs {
			if data, err := st.Blob(t.Context(), a.Blobs[i].Hash); err != nil || !bytes.Equal(data, a.Blobs[i].Data) {
				t.Errorf("%s: a blob of %d bytes, want %d: %v", k.ID, len(data), len(a.Blobs[i].Data), err)
			}
		}
	}
	got, err := st.Entries(t.Context(), k, 0, 0)
	if d := cmp.Diff(log, got); d != "" || err != nil {
		t.Errorf("%s: %v (-want +got)\n%.200s", k.ID, err, d)
	}
	rec, err := st.Get(t.Context(), k, store.Whole)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(last.Seal, rec.Seal); d != "" {
		t.Errorf("%s: the seal (-want +got)\n%.200s", k.ID, d)
	}
}

// left is how many chunks there are.
func left(t *testing.T, st *Store) string {
	t.Helper()
	return rows(t, st, "SELECT count(*) FROM chunk")[0]
}

// swept checks that, soon after the database was opened, no value is staged and each value is
// used.
func swept(t *testing.T, st *Store) {
	t.Helper()
	for {
		if err := st.join(t.Context(), "wait", func(*conn) (bool, error) { return false, nil }); err != nil {
			t.Fatal(err)
		}
		st.writing.Lock()
		n := len(st.unused)
		st.writing.Unlock()
		if n == 0 {
			break
		}
	}
	const used = "SELECT chunks FROM entry UNION ALL SELECT chunks FROM seal UNION ALL SELECT chunks FROM blob"
	st.writing.Lock()
	defer st.writing.Unlock()
	got := rowsOf(t, st.writer, "SELECT count(*) FROM staged UNION ALL SELECT count(*) FROM chunk WHERE key / 65536 * 65536 NOT IN (SELECT chunks FROM ("+used+") WHERE chunks IS NOT NULL)")
	if got[0] != "0|" || got[1] != "0|" {
		t.Errorf("%s values are staged, %s chunks are not used", got[0], got[1])
	}
}

// A large append is written in chunks, and they go with its task.
func TestChunks(t *testing.T) {
	chunks(t, 8<<10)
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := big("a")
	mustAppend(t, st, a)
	sameAs(t, st, a)
	if n := rows(t, st, "SELECT max(length(data)) FROM chunk UNION ALL SELECT max(length(body)) FROM entry"); n[0] != fmt.Sprint(maxChunk, "|") || n[1] != "0|" {
		t.Errorf("the largest chunk and row have %v bytes", n)
	}
	// The next seal takes the place of this one, or none does.
	b := goOn(a)
	b.Seal = &store.Seal{Head: []byte("head"), Body: random(2 * maxChunk)}
	mustAppend(t, st, b)
	sameAs(t, st, a, b)
	before := left(t, st)
	c := goOn(b)
	mustAppend(t, st, c)
	sameAs(t, st, a, b, c)
	if left(t, st) == before {
		t.Error("the chunks of a seal are there that is not")
	}
	// A blob that is there is not written again, though another task refers to it.
	other := big("other")
	other.Blobs = []store.Blob{a.Blobs[0]}
	mustAppend(t, st, other)
	sameAs(t, st, other)
	storetest.Check(t, st, a.Row.Key, other.Row.Key)
	swept(t, st)
	for _, k := range []store.Key{a.Row.Key, other.Row.Key} {
		r, err := st.Get(t.Context(), k, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := st.Delete(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if k == a.Row.Key {
			sameAs(t, st, other)
		}
	}
	if chunks := left(t, st); chunks != "0|" {
		t.Errorf("%s chunks of deleted tasks are there", chunks)
	}
}

// A sealed task with values in chunks, however small, is not packed like those of older
// versions.
func TestChunksAreNotPacked(t *testing.T) {
	chunks(t, 4<<10)
	for what, cut := range map[string]func(*store.Append){
		"its log":  func(a *store.Append) { a.Seal.Body = []byte("small") },
		"its seal": func(a *store.Append) { a.Entries[0].Body = []byte("small") },
	} {
		st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
		a := task("a", 2<<10)
		a.Seal = &store.Seal{Head: []byte("head"), Body: random(2 << 10)}
		a.Blobs = []store.Blob{{Hash: "h", Data: random(2 * maxChunk)}}
		cut(a)
		mustAppend(t, st, a)
		if _, err := st.pack(&packing{0, st.lastKey}); err != nil {
			t.Fatal(err)
		}
		t.Log(what)
		sameAs(t, st, a)
		swept(t, st)
	}
}

// A refused or failed append leaves nothing behind.
func TestChunksOfNothing(t *testing.T) {
	chunks(t, 8<<10)
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	a := big("a")
	mustAppend(t, st, a)
	before := left(t, st)
	gone := func(what string) {
		t.Helper()
		swept(t, st)
		if after := left(t, st); after != before {
			t.Errorf("%s: %s chunks, %s before", what, after, before)
		}
	}
	again := big("a")
	again.Entries[0].Body = random(100 * maxChunk) // in more than one sweep
	if err := store.Do(t.Context(), st, again); err != store.ErrConflict {
		t.Errorf("the same again: %v", err)
	}
	gone("refused")
	exec := func(sql string) {
		st.writing.Lock()
		defer st.writing.Unlock()
		if err := st.writer.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TEMP TRIGGER no BEFORE INSERT ON chunk WHEN (new.key % 65536) = 2 BEGIN SELECT raise(FAIL, 'as this test wants it'); END")
	if err := store.Do(t.Context(), st, big("b")); err == nil || !strings.Contains(err.Error(), "as this test") || errors.Is(err, store.ErrConflict) {
		t.Errorf("an append whose third chunk failed: %v", err)
	}
	if _, err := st.Get(t.Context(), big("b").Row.Key, store.RowOnly); err != store.ErrNotFound {
		t.Errorf("it is there: %v", err)
	}
	exec("DROP TRIGGER no")
	gone("failed")
	mustAppend(t, st, big("b"))
	sameAs(t, st, big("b"))
}

// A crash leaves chunks of values that were never appended. Opening the database removes
// them, and nothing else.
func TestChunksOfACrash(t *testing.T) {
	chunks(t, 8<<10)
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := big("a")
	mustAppend(t, st, a)
	whole := left(t, st)
	st.stage(big("b"), &chunked{blobs: make([]int64, 2)})
	if err := st.join(t.Context(), "wait", func(*conn) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, st, task("small", 1))
	st = mustOpen(t, crashed(t, st), nil)
	swept(t, st)
	if chunks := left(t, st); chunks != whole {
		t.Errorf("%s chunks, want %s", chunks, whole)
	}
	b := big("b")
	mustAppend(t, st, b)
	sameAs(t, st, a)
	sameAs(t, st, b)
}

// Two appends have the same blob, and their transaction is rolled back. The finding that the
// blob was stored already is rolled back too: the second append keeps its chunks and stores
// the blob.
func TestChunksOfABlobThatCameToNothing(t *testing.T) {
	chunks(t, 1<<10)
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	// The first append succeeds only after a change that works once; the third never
	// succeeds.
	err := st.writer.Exec("CREATE TEMP TABLE once (n); " +
		"CREATE TEMP TRIGGER no BEFORE INSERT ON task WHEN new.id = 'c' OR new.id = 'a' AND NOT EXISTS (SELECT 1 FROM once) " +
		"BEGIN SELECT raise(FAIL, 'as this test wants it'); END")
	if err != nil {
		t.Fatal(err)
	}
	tried := false
	batch := []work{{change: func(c *conn) (bool, error) {
		if tried {
			return false, nil
		}
		tried = true
		return true, c.Exec("INSERT INTO once VALUES (1)")
	}}}
	blob := []store.Blob{{Hash: "h", Data: random((sweepMost + 9) * maxChunk)}}
	for _, id := range []string{"a", "b", "c"} {
		a := task(id, 1)
		if id != "c" {
			a.Blobs = blob
		}
		k := &chunked{blobs: make([]int64, len(a.Blobs))}
		st.stage(a, k)
		batch = append(batch, work{append: a, chunks: k})
	}
	if err := st.join(t.Context(), "wait", func(*conn) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	errs := st.commit(batch)
	if errs[1] == nil || errs[2] != nil || errs[3] == nil {
		t.Errorf("outcomes: %v", errs)
	}
	sameAs(t, st, batch[2].append)
	swept(t, st)
	sameAs(t, st, batch[2].append)
}

// The keys of values that are still to be swept are not given to others.
func TestChunksOfACrashKeepTheirKeys(t *testing.T) {
	chunks(t, 1<<10)
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := task("a", 0)
	for i := range 3 { // each in as many chunks as one sweep removes
		a.Blobs = append(a.Blobs, store.Blob{Hash: fmt.Sprint(i), Data: random(sweepMost * maxChunk)})
	}
	k := &chunked{blobs: make([]int64, len(a.Blobs))}
	st.stage(a, k)
	if err := st.join(t.Context(), "wait", func(*conn) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	st.writing.Lock()
	st.unused = []int64{k.blobs[2]}
	err := st.writer.transaction(func() error { _, err := st.sweep(st.writer); return err })
	st.writing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	st = mustOpen(t, crashed(t, st), nil)
	if last := st.lastValue; last < k.blobs[2] {
		t.Errorf("the highest value is %d, while %d is staged", last, k.blobs[2])
	}
	swept(t, st)
}
