//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

var errLocked = errors.New("agent: the folder for files is in use")

// lockRoom locks a folder that belongs to this user. With create it makes the lock
// file, otherwise the file must exist.
func lockRoom(base string, create bool) (*os.File, error) {
	info, err := os.Lstat(base)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() {
		return nil, errLocked
	}
	name, flags := filepath.Join(base, "lock"), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK
	if create { // under another name, so that no other process can lock it first
		name, flags = name+".new", flags|os.O_CREATE
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errLocked
	}
	if create {
		if err := os.Rename(name, filepath.Join(base, "lock")); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}
