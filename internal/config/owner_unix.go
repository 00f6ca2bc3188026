//go:build unix

package config

import (
	"os"
	"syscall"
)

// PermissionsMatter says whether a file's mode limits who can read it.
const PermissionsMatter = true

// Trusted reports whether a configuration file that was found, not named, may be read. A file
// that another user put above the working directory could send this user's credentials
// anywhere.
func Trusted(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	me := os.Geteuid()
	return ok && (me == 0 || owner.Uid == 0 || int(owner.Uid) == me)
}
