package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
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

// removeLocked does nothing: an open file cannot be removed here. The
// lock file stays, unlocked.
func removeLocked(string) {}

// syncDir does nothing: there is no such thing here.
func syncDir(string) error { return nil }
