//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Errors of the system that explain a failed write. A quota, and the largest file that the
// file system or the process may have, also count as a lack of space.
var (
	fullErrors     = []error{unix.ENOSPC, unix.EDQUOT, unix.EFBIG}
	readOnlyErrors = []error{unix.EROFS}
	busyErrors     []error
)

// lockFile takes the lock without waiting. It uses flock, not fcntl, because SQLite's own
// locks are fcntl locks, and because flock also works against a second Open in the same
// process.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

// isLocked reports whether a process has the lock.
func isLocked(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	}
	return errors.Is(err, unix.EWOULDBLOCK)
}

func removeLocked(name string) { os.Remove(name) }

// syncDir makes the names of the files beside path durable, which an fsync of the files does
// not. The driver means to do this for the write-ahead log, but syncs the log twice instead
// (vfs/file.go in v0.35.6).
func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("sync the directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems neither can nor need to
		return fmt.Errorf("sync the directory: %w", err)
	}
	return nil
}
