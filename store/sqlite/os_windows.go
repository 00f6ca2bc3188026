package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Errors of the system that explain a failed write.
var (
	fullErrors     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	readOnlyErrors = []error{windows.ERROR_WRITE_PROTECT}
	busyErrors     = []error{windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION}
)

// lockFile takes the lock without waiting. It locks a byte far behind the content, so that
// other processes can still read the holder's pid.
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

// removeLocked does nothing, because Windows cannot remove an open file. The lock file stays,
// unlocked.
func removeLocked(string) {}

// syncDir does nothing, because Windows has no such operation.
func syncDir(string) error { return nil }
