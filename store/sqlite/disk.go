package sqlite

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is the driver's file system, but an error that says that there is no
// space or no right to write reaches the caller as such. The driver keeps what
// the system said until the next call to the file system, which comes before
// SQLite has returned, and its own look for a full disk misses the error that
// Go wraps (vfs/os_unix.go in v0.35.6).
type disk struct{ vfs.VFSFilename }

// system is the name of the disk that connections are opened on.
var system = mount("parley", vfs.Find("os").(vfs.VFSFilename)) // not constant, for tests

// mount makes a file system known to SQLite and returns its name.
func mount(name string, under vfs.VFSFilename) string {
	vfs.Register(name, disk{under})
	return name
}

// refused is what a write without the right to it becomes: a kind of I/O error,
// so that SQLite ends the transaction as after any, of a code that it leaves to
// the file system and never uses itself.
const refused = sqlite3.IOERR_AUTH

// explained gives errors of writes a code of SQLite's that says why.
func explained(err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(reason(err), err)
}

// reason returns the error of a write with such a code, nil if there is none
// for it.
func reason(err error) error {
	switch {
	case isOneOf(err, fullErrors):
		return vfs.SystemError(err, sqlite3.FULL)
	case isOneOf(err, readOnlyErrors), errors.Is(err, fs.ErrPermission):
		return vfs.SystemError(err, refused)
	}
	return nil
}

func (d disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	if flags&vfs.OPEN_WAL != 0 {
		return &logFile{diskFile: diskFile{f}}, flags, nil
	}
	return &bulkFile{diskFile: diskFile{f}}, flags, nil
}

// diskFile has the methods that SQLite looks for in a file in write-ahead mode.
type diskFile struct{ vfs.File }

func (f diskFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, explained(err)
}

func (f diskFile) Truncate(size int64) error { return explained(f.File.Truncate(size)) }

func (f diskFile) Sync(flags vfs.SyncFlag) error { return explained(f.File.Sync(flags)) }

// SizeHint tells how long the file is going to be.
func (f diskFile) SizeHint(size int64) error {
	if h, ok := f.File.(vfs.FileSizeHint); ok {
		return explained(h.SizeHint(size))
	}
	return nil
}

// SharedMemory is the index of the write-ahead log.
func (f diskFile) SharedMemory() vfs.SharedMemory {
	if m, ok := f.File.(vfs.FileSharedMemory); ok {
		return m.SharedMemory()
	}
	return nil
}

// DeviceCharacteristics leaves out writes of several pages at once, which only
// a rollback journal would use, with methods that are not here.
func (f diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// bulk is how much is written to a file, in bytes, before the system is asked to begin
// with the disk.
const bulk = 1 << 20

// bulkFile is any file but the log. The pages that a checkpoint moves into the database
// go to the disk as they come. If all of them waited for the sync at the end, the commits
// beside it would wait for the disk as long.
type bulkFile struct {
	diskFile
	pending int // bytes
}

func (f *bulkFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.diskFile.WriteAt(b, at)
	if f.pending += n; f.pending >= bulk {
		f.pending = 0
		beginWriteback(f.File)
	}
	return n, err
}
