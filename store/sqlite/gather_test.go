package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// plainFile is a file in memory. The write that exceeds room writes as much as fits, and
// fails.
type plainFile struct {
	vfs.File
	data         []byte
	writes, left int
}

func (f *plainFile) WriteAt(b []byte, at int64) (n int, err error) {
	f.writes++
	if len(b) > f.left {
		b, err = b[:f.left], io.ErrShortWrite
	}
	f.left -= len(b)
	if end := int(at) + len(b); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	return copy(f.data[at:], b), err
}

func (f *plainFile) ReadAt(b []byte, at int64) (int, error) {
	n := copy(b, f.data[min(int(at), len(f.data)):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *plainFile) Truncate(size int64) error {
	f.data = append(f.data, make([]byte, max(int(size)-len(f.data), 0))...)[:size]
	return nil
}

func (f *plainFile) Sync(vfs.SyncFlag) error { return nil }
func (f *plainFile) Size() (int64, error)    { return int64(len(f.data)), nil }

const endless = 1 << 40

// A log that gathers reads the same as one that does not, whatever is done with it, and holds
// nothing back from a sync.
func TestGatheredLogIsTheLog(t *testing.T) {
	for range 200 {
		seed := rand.Uint64()
		source := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
		rng := rand.New(source)
		want, below := &plainFile{left: endless}, &plainFile{left: endless}
		f := &logFile{diskFile: diskFile{below}, gathers: true}
		at := int64(0)
		for step := range 300 {
			b := make([]byte, rng.IntN(9000))
			source.Read(b) // at once: byte by byte it was most of what the test takes
			var err error
			switch rng.IntN(20) {
			case 0: // as a rollback to a savepoint, or a page that is written again
				at = rng.Int64N(at + 1)
			case 1:
				if err = f.Sync(0); err == nil && !bytes.Equal(want.data, below.data) {
					t.Fatalf("seed %d, step %d: a sync missed something", seed, step)
				}
			case 2:
				size, _ := want.Size()
				var got int64
				if got, err = f.Size(); got != size {
					t.Fatalf("seed %d, step %d: %d bytes, want %d", seed, step, got, size)
				}
			case 3:
				size := rng.Int64N(at + 1)
				err = f.Truncate(size)
				want.Truncate(size)
				at = size
			case 4, 5, 6:
				from, again := rng.Int64N(at+1), make([]byte, len(b))
				n, eof := want.ReadAt(b, from)
				m, err := f.ReadAt(again, from)
				if n != m || eof != err || !bytes.Equal(b[:n], again[:n]) {
					t.Fatalf("seed %d, step %d: read %d, %v, want %d, %v", seed, step, m, err, n, eof)
				}
			default:
				var n int
				n, err = f.WriteAt(b, at)
				want.WriteAt(b, at)
				at += int64(n)
			}
			if err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			if len(f.held) > maxGathered {
				t.Fatalf("%d bytes are held back", len(f.held))
			}
		}
	}
}

// What could not be written is not forgotten: the next sync fails too, or
// writes all of it.
func TestGatheredWriteFails(t *testing.T) {
	below := &plainFile{left: 1500}
	f := &logFile{diskFile: diskFile{below}, gathers: true}
	for i := range 4 {
		if n, err := f.WriteAt(bytes.Repeat([]byte{byte(i + 1)}, 1000), int64(i)*1000); n != 1000 || err != nil || below.writes > 0 {
			t.Fatalf("a write that can wait: %d, %v, %d writes", n, err, below.writes)
		}
	}
	calls := map[string]func() error{
		"sync":     func() error { return f.Sync(0) },
		"size":     func() error { _, err := f.Size(); return err },
		"truncate": func() error { return f.Truncate(0) },
		"read":     func() error { _, err := f.ReadAt(make([]byte, 10), 3000); return err },
		"write":    func() error { _, err := f.WriteAt(make([]byte, 10), 0); return err },
	}
	for name, call := range calls {
		if err := call(); !strings.Contains(fmt.Sprint(err), io.ErrShortWrite.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	below.left, below.writes = endless, 0
	if err := f.Sync(0); err != nil || below.writes != 1 || len(below.data) != 4000 || below.data[0] != 1 || below.data[3999] != 4 {
		t.Errorf("with room again: %v, %d writes, %d bytes", err, below.writes, len(below.data))
	}
}

// watched is a file system that records the calls on the log, and whose log takes a limited
// number of bytes at a time.
type watched struct {
	vfs.VFSFilename
	writes, syncs int
	most          int // 0: any
}

func (d *watched) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil || flags&vfs.OPEN_WAL == 0 {
		return f, flags, err
	}
	return &watchedLog{diskFile{f}, d}, flags, nil
}

type watchedLog struct {
	diskFile
	disk *watched
}

func (f *watchedLog) WriteAt(b []byte, at int64) (int, error) {
	f.disk.writes++
	if most := f.disk.most; most > 0 && len(b) > most {
		n, _ := f.File.WriteAt(b[:most], at)
		return n, errors.New("torn")
	}
	return f.File.WriteAt(b, at)
}

func (f *watchedLog) Sync(flags vfs.SyncFlag) error {
	f.disk.syncs++
	return f.File.Sync(flags)
}

func watch(t *testing.T) *watched {
	d := &watched{VFSFilename: vfs.Find("os").(vfs.VFSFilename)}
	onDisk(t, "watched", d)
	return d
}

// A commit of many pages is one write and one sync.
func TestCommitIsOneWrite(t *testing.T) {
	d := watch(t)
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	mustAppend(t, st, task("first", 10)) // begins the log, with a header and a sync of its own
	for i := range 5 {
		d.writes, d.syncs = 0, 0
		mustAppend(t, st, task(fmt.Sprint(i), 100_000))
		if d.writes != 1 || d.syncs != 1 {
			t.Errorf("a commit: %d writes, %d syncs", d.writes, d.syncs)
		}
	}
}

// If the only write of a commit ends in the middle, the commit did not happen, also after a
// crash, and the next commit works.
func TestTornCommit(t *testing.T) {
	d := watch(t)
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("before", 10_000))
	keys := []store.Key{task("before", 0).Row.Key, task("torn", 0).Row.Key, task("after", 0).Row.Key}
	for _, most := range []int{1, 24, 4119, 4120, 20_000} {
		d.most = most
		if err := store.Do(t.Context(), st, task("torn", 40_000)); !errors.Is(err, sqlite3.IOERR_WRITE) {
			t.Errorf("torn after %d bytes: %v", most, err)
		}
		d.most = 0
		for _, st := range []*Store{st, mustOpen(t, crashed(t, st), nil)} {
			storetest.Check(t, st, keys...)
			if _, err := st.Get(t.Context(), keys[0], store.RowOnly); err != nil {
				t.Errorf("what was there: %v", err)
			}
			if _, err := st.Get(t.Context(), keys[1], store.RowOnly); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("what was torn: %v", err)
			}
		}
	}
	mustAppend(t, st, task("after", 100))
	if _, err := mustOpen(t, crashed(t, st), nil).Get(t.Context(), keys[2], store.RowOnly); err != nil {
		t.Error(err)
	}
}

// A transaction that outgrows the cache reads back what it wrote, while others do not see it.
// If it is rolled back, its frames do not disturb the connection that writes next to the same
// place in the log.
func TestSpilledTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("before", 10))
	w := st.writer
	if err := w.Exec("PRAGMA cache_size = 10"); err != nil {
		t.Fatal(err)
	}
	const many = "INSERT INTO kept (name, value) WITH RECURSIVE n (value) AS (VALUES (%d) UNION ALL SELECT value + 1 FROM n WHERE value %% 500 > 0) " +
		"SELECT value, randomblob(3000) FROM n"
	held := func() int {
		f, err := w.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
		if err != nil {
			t.Fatal(err)
		}
		return len(f.(*logFile).held)
	}
	count := func() (n int) {
		kept, err := st.Kept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(kept)
	}
	sum := func() (n int64) {
		if err := w.stmt("SELECT sum(length(value)) FROM kept").each(func(r *sqlite3.Stmt) error { n = r.ColumnInt64(0); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		if err := w.Exec("BEGIN IMMEDIATE; " + fmt.Sprintf(many, 1)); err != nil {
			t.Fatal(err)
		}
		if held() == 0 {
			t.Fatal("nothing is held back: the transaction is not as long as this test means it to be")
		}
		if n := count(); n != 0 {
			t.Errorf("a reader beside sees %d rows", n)
		}
		if n := sum(); n != 500*3000 {
			t.Errorf("the transaction itself sees %d bytes", n)
		}
		if err := w.Exec("UPDATE kept SET value = randomblob(2000) WHERE name % 7 = 0; " + fmt.Sprintf(many, 501)); err != nil {
			t.Fatal(err)
		}
		if held() == 0 {
			t.Fatal("nothing is held back at the end")
		}
		if err := w.Exec(end); err != nil {
			t.Fatal(err)
		}
		if n := held(); n != 0 {
			t.Errorf("%d bytes are held back after %s", n, end)
		}
		if end == "ROLLBACK" {
			// Somebody else writes to where the frames would have been.
			other, err := openConn(path, "rw")
			if err == nil {
				err = other.Exec("INSERT INTO secret (name, value) VALUES ('other', randomblob(20000))")
			}
			if err != nil {
				t.Fatal(err)
			}
			other.close()
		}
		mustAppend(t, st, task(end, 10_000))
	}
	if n := count(); n != 1000 {
		t.Errorf("%d rows in the end", n)
	}
	for _, st := range []*Store{st, mustOpen(t, crashed(t, st), nil)} {
		storetest.Check(t, st, task("before", 0).Row.Key, task("ROLLBACK", 0).Row.Key, task("COMMIT", 0).Row.Key)
		if all := rows(t, st, "PRAGMA integrity_check"); all[0] != "ok|" {
			t.Error(all)
		}
		if b, err := st.Secret(t.Context(), "other"); err != nil || len(b) != 20000 {
			t.Errorf("what the other wrote: %d bytes, %v", len(b), err)
		}
	}
}
