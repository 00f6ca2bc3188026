package sqlite

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is the driver's file system, but it reports a lack of space or of permission with an
// SQLite code that says so. The driver keeps the system's error only until the next call to the file
// system, which comes before SQLite returns, and its own check for a full disk misses errors
// that Go wraps (vfs/os_unix.go in v0.35.6).
type disk struct{ vfs.VFSFilename }

// system is the name of the disk on which connections are opened.
var system = mount("parley", vfs.Find("os").(vfs.VFSFilename)) // not constant, for tests

// mount registers a file system with SQLite and returns its name.
func mount(name string, under vfs.VFSFilename) string {
	vfs.Register(name, disk{under})
	return name
}

// refused is the code of a write without permission. It is a kind of I/O error, so SQLite
// ends the transaction as after any I/O error. SQLite leaves this code to file systems and
// never uses it itself.
const refused = sqlite3.IOERR_AUTH

// explained gives a write error the SQLite code for its reason, if that is known.
func explained(err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(reason(err), err)
}

// reason returns a write error with the SQLite code for its reason, or nil if there is no
// such code.
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

// diskFile has the methods that SQLite uses on a file in write-ahead mode.
type diskFile struct{ vfs.File }

func (f diskFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, explained(err)
}

func (f diskFile) Truncate(size int64) error { return explained(f.File.Truncate(size)) }

func (f diskFile) Sync(flags vfs.SyncFlag) error { return explained(f.File.Sync(flags)) }

// SizeHint passes on the size that the file is going to have.
func (f diskFile) SizeHint(size int64) error {
	if h, ok := f.File.(vfs.FileSizeHint); ok {
		return explained(h.SizeHint(size))
	}
	return nil
}

// SharedMemory returns the index of the write-ahead log.
func (f diskFile) SharedMemory() vfs.SharedMemory {
	if m, ok := f.File.(vfs.FileSharedMemory); ok {
		return m.SharedMemory()
	}
	return nil
}

// DeviceCharacteristics hides the ability to write several pages at once. Only a rollback
// journal would use it, through methods that diskFile does not have.
func (f diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// bulk is how many bytes are written to a file before the system is asked to start writing
// them to the disk.
const bulk = 1 << 20

// bulkFile is any file except the log. It sends the pages that a checkpoint moves into the
// database to the disk as they come. If all of them waited for the sync at the end,
// concurrent commits would wait for the disk as long.
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
