package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// onDisk makes SQLite work on another disk for the rest of a test.
func onDisk(t *testing.T, name string, d vfs.VFSFilename) {
	was := system
	system = mount(name, d)
	t.Cleanup(func() {
		system = was
		vfs.Unregister(name)
	})
}

// file returns the Opener of a database in a directory of its own.
func file(t testing.TB) storetest.Opener {
	path := filepath.Join(t.TempDir(), "parley.db")
	return func(t testing.TB) store.Store { return mustOpen(t, path, nil) }
}

func mustOpen(t testing.TB, path string, o *Options) *Store {
	t.Helper()
	st, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		st.Close()
		checkTally(t, path)
	})
	return st
}

func TestStore(t *testing.T) { storetest.RunAlone(t, file) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, file) }
