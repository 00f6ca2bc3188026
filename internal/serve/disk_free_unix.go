//go:build linux || darwin || freebsd

package serve

import "syscall"

// freeSpace returns how many bytes this user can still write on the disk of dir.
func freeSpace(dir string) (free int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(uint64(st.Bavail) * uint64(st.Bsize)), true
}
