//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/parley-a2a/parley/store"
	"golang.org/x/sys/unix"
)

// faultyDisk is a file system that fails on command.
type faultyDisk struct {
	vfs.VFSFilename
	write, sync atomic.Pointer[unix.Errno] // of files that are open; nil: they work
}

func (d *faultyDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &faultyFile{diskFile{f}, d}, flags, nil
}

type faultyFile struct {
	diskFile
	disk *faultyDisk
}

func failed(op string, p *atomic.Pointer[unix.Errno]) error {
	if errno := p.Load(); errno != nil {
		return &fs.PathError{Op: op, Path: "file", Err: *errno} // as package os does
	}
	return nil
}

func (f *faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if err := failed("write", &f.disk.write); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f *faultyFile) Sync(flags vfs.SyncFlag) error {
	if err := failed("sync", &f.disk.sync); err != nil {
		return err
	}
	return f.File.Sync(flags)
}

// onFaultyDisk makes SQLite work on such a disk for the rest of a test.
func onFaultyDisk(t *testing.T) *faultyDisk {
	d := &faultyDisk{VFSFilename: vfs.Find("os").(vfs.VFSFilename)}
	onDisk(t, "faulty", d)
	return d
}

// The disk fails under a running store. The caller gets an error, the operator can tell why,
// reads continue, acknowledged data is kept, and when the disk works again the store does
// too.
func TestDiskFails(t *testing.T) {
	for _, c := range []struct {
		errno unix.Errno
		want  error // nil: an I/O error like any other
	}{
		{unix.ENOSPC, store.ErrFull}, {unix.EDQUOT, store.ErrFull}, {unix.EFBIG, store.ErrFull},
		{unix.EROFS, store.ErrReadOnly}, {unix.EACCES, store.ErrReadOnly}, {unix.EPERM, store.ErrReadOnly},
		{unix.EIO, nil},
	} {
		for _, sync := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, sync %t", unix.ErrnoName(c.errno), sync), func(t *testing.T) {
				d := onFaultyDisk(t)
				path := filepath.Join(t.TempDir(), "parley.db")
				st := mustOpen(t, path, nil)
				switching := &d.write
				if sync {
					switching = &d.sync
				}
				fails := func(broken bool) {
					if switching.Store(nil); broken {
						switching.Store(&c.errno)
					}
				}
				testTrouble(t, st, fails, c.want, sync)
			})
		}
	}
}
