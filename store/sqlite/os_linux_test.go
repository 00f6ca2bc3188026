package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
	"golang.org/x/sys/unix"
)

// asNobody runs f as a user without rights to files, if the test runs as root.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine, it is spoilt
		if err := unix.Setfsuid(65534); err != nil {
			t.Errorf("setfsuid: %v", err)
			return
		}
		f()
	}()
	<-done
}

func TestReadOnlyDirectoryIsExplained(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.db")
	mustOpen(t, old, nil).Close()
	for _, path := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(path, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(path, 0o755)
	}
	if err := os.Chmod(old, 0o666); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		for _, path := range []string{old, filepath.Join(dir, "new.db")} {
			_, err := Open(path, nil)
			if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "directory of the database must be writable") {
				t.Errorf("open %s: %v", filepath.Base(path), err)
			}
		}
		if _, err := Open(filepath.Join(dir, "sub", "new.db"), nil); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "make a directory") {
			t.Errorf("open in a directory that cannot be made: %v", err)
		}
	})
}

// limitEnv tells a copy of the test binary that it may limit the size of its files.
const limitEnv = "PARLEY_TEST_LIMIT"

// A commit that cannot be written is reported and leaves
// nothing; the writer goes on as soon as the disk does.
func TestCommitThatCannotBeWritten(t *testing.T) {
	if os.Getenv(limitEnv) == "" {
		// The test runs in a process of its own, because the limit applies to all files of a
		// process, including the log of opened files that go test keeps.
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), limitEnv+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("before", 10))
	small, big := task("small", 10), task("big", 1<<20)

	lift := limitFiles(t, 256<<10) // the log is shorter by now
	errs := queued(st, []*store.Append{big})
	if !errors.Is(errs[0], store.ErrFull) {
		t.Errorf("a commit beyond the limit: %v, want that the disk is full", errs[0])
	}
	if _, err := st.Get(t.Context(), big.Row.Key, store.RowOnly); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what could not be written is there: %v", err)
	}
	mustAppend(t, st, small) // there is room for it
	lift()

	mustAppend(t, st, big)
	keys := []store.Key{task("before", 0).Row.Key, small.Row.Key, big.Row.Key}
	storetest.Check(t, st, keys...)
	recovered := mustOpen(t, crashed(t, st), nil)
	storetest.Check(t, recovered, keys...)
	for _, k := range keys {
		if _, err := recovered.Get(t.Context(), k, store.RowOnly); err != nil {
			t.Errorf("%s after a crash: %v", k.ID, err)
		}
	}
}

// A database that root made, copied or read is still one that its server can open, which
// runs as another user.
func TestRootLeavesTheDatabaseToItsServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.db")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	reopen(t, path)
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() { reopen(t, path) })
	l, err := acquire(path) // as a command does that then dies
	if err != nil {
		t.Fatal(err)
	}
	l.file.Close()
	asNobody(t, func() { reopen(t, path) })
}

func reopen(t *testing.T, path string) {
	st, err := Open(path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// limitFiles makes writes fail that would make a file longer than n bytes.
func limitFiles(t *testing.T, n uint64) (lift func()) {
	t.Helper()
	signal.Ignore(unix.SIGXFSZ) // which would end the process
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	set := func(l unix.Rlimit) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	set(unix.Rlimit{Cur: n, Max: was.Max})
	lifted := false
	lift = func() {
		if !lifted {
			lifted = true
			set(was)
			signal.Reset(unix.SIGXFSZ)
		}
	}
	t.Cleanup(lift)
	return lift
}

// The files of the driver have descriptors, without which beginWriteback does nothing.
func TestFilesHaveDescriptors(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	for _, file := range []sqlite3.FcntlOpcode{sqlite3.FCNTL_FILE_POINTER, sqlite3.FCNTL_JOURNAL_POINTER} {
		f, err := st.writer.FileControl("main", file)
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := f.(vfs.FileUnwrap); ok {
			f = w.Unwrap() // what computes checksums
		}
		var under any
		switch f := f.(type) {
		case *bulkFile:
			under = f.File
		case *logFile:
			under = f.File
		}
		if _, ok := under.(interface{ Fd() uintptr }); !ok {
			t.Errorf("a file of %T over %T has none", f, under)
		}
	}
}
