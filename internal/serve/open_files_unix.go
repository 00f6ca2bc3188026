//go:build unix

package serve

import "syscall"

// openFiles returns how many files and connections the process may have open; 0 if that
// is not known. Go has already raised the soft limit to the hard one.
func openFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(uint64(l.Cur), maxOpenFiles)) // even if there is no limit
}

// maxOpenFiles caps openFiles.
const maxOpenFiles = 1 << 20
