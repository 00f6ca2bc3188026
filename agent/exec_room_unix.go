//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package agent

import (
	"os"
	"path/filepath"
	"syscall"
)

// lockRoom locks a folder that is this user's. With create the lock is made, else it
// has to be there.
func lockRoom(base string, create bool) (*os.File, error) {
	info, err := os.Lstat(base)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() {
		return nil, errLocked
	}
	flags := os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(base, "lock"), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errLocked
	}
	return f, nil
}
