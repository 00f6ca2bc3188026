package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// What the system says where a write fails.
var (
	fullErrors     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	readOnlyErrors = []error{windows.ERROR_WRITE_PROTECT}
	busyErrors     = []error{windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION}
)

// lockFile takes the lock without waiting. It locks a byte far behind the
// content, so that others can still read whose it is.
func lockFile(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// isLocked reports whether a process has the lock.
func isLocked(f *os.File) bool {
	at := &windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if err == nil {
		_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, at)
	}
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// removeLocked does nothing: an open file cannot be removed here. The
// lock file stays, unlocked.
func removeLocked(string) {}

// syncDir does nothing: there is no such thing here.
func syncDir(string) error { return nil }
