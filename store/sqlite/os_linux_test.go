package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
			if err == nil || !strings.Contains(err.Error(), "directory of the database must be writable") {
				t.Errorf("open %s: %v", filepath.Base(path), err)
			}
		}
		if _, err := Open(filepath.Join(dir, "sub", "new.db"), nil); err == nil || !strings.Contains(err.Error(), "make a directory") {
			t.Errorf("open in a directory that cannot be made: %v", err)
		}
	})
}
