package sqlite

import (
	"github.com/ncruces/go-sqlite3/vfs"
	"golang.org/x/sys/unix"
)

// beginWriteback asks the system to start writing its cached pages of a file to the disk, and
// does not wait for that. It makes nothing durable; only a sync does.
func beginWriteback(f vfs.File) {
	if d, ok := f.(interface{ Fd() uintptr }); ok {
		_ = unix.SyncFileRange(int(d.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) // only a hint
	}
}
