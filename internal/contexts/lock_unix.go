//go:build unix

package contexts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of a file without waiting.
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return errLocked
	}
	return err
}
