//go:build unix

package main

import (
	"os"
	"syscall"
)

// permissionsMatter is whether a file's mode says who can read it.
const permissionsMatter = true

// trusted reports whether a .env that was found by walking up may be read. One
// that another user put above our working directory could send our credentials
// anywhere.
func trusted(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	me := os.Geteuid()
	return ok && (me == 0 || owner.Uid == 0 || int(owner.Uid) == me)
}
