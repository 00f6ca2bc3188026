package sqlite

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// A connection that has read a large value is closed rather than kept, for SQLite
// keeps the memory that it took.
func TestLargeReadsCloseTheirConnection(t *testing.T) {
	for _, size := range []int{maxChunk, 1 << 30} { // in chunks, and whole, as versions before 9 wrote it
		chunks(t, size)
		testLargeReads(t)
	}
}

func testLargeReads(t *testing.T) {
	s, err := Open(t.TempDir()+"/a2a.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := store.Key{ID: "t"}
	done := make(chan error)
	data := bytes.Repeat([]byte("x"), grownFrom)
	s.Append(&store.Append{
		Row: store.Row{Key: k}, Entries: []store.Entry{{Seq: 1, Kind: 1, Body: data}}, Seal: &store.Seal{Head: []byte("{}"), Body: data},
		Blobs: []store.Blob{{Hash: "h", Data: data}},
	}, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	open := func() int {
		s.readers.mu.Lock()
		defer s.readers.mu.Unlock()
		return s.readers.open
	}
	for what, read := range map[string]func() error{
		"a record":  func() error { _, err := s.Get(t.Context(), k, store.Whole); return err },
		"a page":    func() error { _, err := s.List(t.Context(), store.Query{Limit: 9, Body: true}); return err },
		"a log":     func() error { _, err := s.Entries(t.Context(), k, 0, 0); return err },
		"a blob":    func() error { _, err := s.Blob(t.Context(), "h"); return err },
		"its bytes": func() error { _, err := s.Get(t.Context(), k, 1); return err },
	} {
		lent, err := s.readers.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		small, err := s.readers.get(t.Context()) // the one that is read with
		if err != nil {
			t.Fatal(err)
		}
		s.readers.put(small)
		if err := read(); err != nil {
			t.Fatal(err)
		}
		want := 1
		if what == "its bytes" {
			want = 2
		}
		if n := open(); n != want {
			t.Errorf("%d connections are open after %s was read, want %d", n, what, want)
		}
		s.readers.put(lent)
	}
}

// The last connection is replaced when it has grown, unless there can be no other.
func TestTheLastReaderIsReplaced(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	a := task("a", grownFrom)
	mustAppend(t, st, a)
	path := st.readers.path
	for _, none := range []bool{false, true} {
		if none {
			st.readers.path = path + ".none"
		}
		before := st.readers.idle[0]
		if _, err := st.Entries(t.Context(), a.Row.Key, 0, 0); err != nil {
			t.Fatal(err)
		}
		if n, now := st.readers.open, st.readers.idle[0]; n != 1 || (now == before) != none {
			t.Errorf("%d connections are open, of which there can be no other: %t; it is the same: %t", n, none, now == before)
		}
	}
	st.readers.path = path
}
