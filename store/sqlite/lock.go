package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/fileowner"
	"github.com/parley-a2a/parley/store"
)

// lock keeps other processes from a database: it is a file beside the database that stays
// locked while it is open. The system unlocks it when the process ends, even after kill -9.
type lock struct {
	file *os.File
}

// errLocked means that the lock is held: lockFile returns it.
var errLocked = errors.New("locked")

// acquire locks the database at path, or returns an error that names the holder.
func acquire(path string) (*lock, error) {
	name := path + ".lock"
	for tries := 0; ; tries++ {
		f, err := fileowner.Open(name, filepath.Dir(path), os.O_RDWR)
		if err != nil {
			return nil, unwritable(path, err)
		}
		if err := lockFile(f); err != nil {
			if errors.Is(err, errLocked) && tries < 1000 && !isLocked(f) { // another process is checking the lock and shares it for a moment: see holder
				f.Close()
				time.Sleep(time.Millisecond)
				continue
			}
			defer f.Close()
			if errors.Is(err, errLocked) {
				return nil, inUse(path, f)
			}
			return nil, fmt.Errorf("sqlite: lock %s: %w", name, err)
		}
		// release removes the file, so it may have been replaced between opening and locking.
		if !same(f, name) {
			f.Close()
			continue
		}
		if err := f.Truncate(0); err == nil {
			_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0) // shown in error messages only
		}
		return &lock{f}, nil
	}
}

func same(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(opened, there)
}

// release removes the lock file and then unlocks it. If a user removed the file by hand,
// there may be another process's lock file in its place, which stays.
func (l *lock) release() {
	if same(l.file, l.file.Name()) {
		removeLocked(l.file.Name())
	}
	l.file.Close()
}

// pidIn returns the pid of the process that has the lock; 0: unknown.
func pidIn(f *os.File) int {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}

// inUse returns an error that says which process has the database open.
func inUse(path string, f *os.File) error {
	who := "another process"
	switch pid := pidIn(f); pid {
	case 0:
	case os.Getpid():
		who = "this process"
	default:
		who = fmt.Sprintf("another process (pid %d)", pid)
	}
	return store.Because(fmt.Errorf("sqlite: %s is in use by %s; stop that first, or choose another file", path, who), store.ErrBusy)
}
