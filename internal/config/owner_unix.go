//go:build unix

package config

import (
	"os"
	"syscall"
)

// PermissionsMatter is whether a file's mode says who can read it.
const PermissionsMatter = true

// Trusted reports whether a configuration file that was found, and not named, may
// be read. A file that another user put above our working directory could send our
// credentials anywhere.
func Trusted(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	me := os.Geteuid()
	return ok && (me == 0 || owner.Uid == 0 || int(owner.Uid) == me)
}
