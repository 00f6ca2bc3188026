package sqlite

import (
	"cmp"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// maxGathered caps how many bytes of the write-ahead log are held back.
const maxGathered = 1 << 20

// logFile is a write-ahead log. SQLite writes each page of a commit with two calls, one of
// them for the frame's header. On the writing connection, logFile gathers these writes, so
// that a commit is one write and one sync.
//
// No reader misses what is held back. With synchronous=FULL, SQLite syncs the log at the end
// of each commit, before it enters the frames into the log's index, and other connections
// find frames only through the index (sqlite3WalFrames: sqlite3OsSync, then walIndexAppend
// and walIndexWriteHdr). So nothing is held back any more once a commit is visible or
// acknowledged, and if the write fails, the commit fails. Frames of a transaction that
// outgrew the cache are not synced, but only its own connection sees them, and it reads
// through this file. Frames of a transaction that was rolled back must not reach the log,
// because their place in the log may then be used by others: see forget.
//
// Like its connection, it serves one goroutine at a time.
type logFile struct {
	diskFile
	gathers bool
	held    []byte // written by SQLite, but not yet to the file
	at      int64  // offset of held in the file
}

// gather makes a connection gather its writes to the log. The connection must sync each
// commit.
func (c *conn) gather() error {
	if _, err := c.pragma("user_version"); err != nil { // opens the log
		return err
	}
	file, err := c.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return err
	}
	if f, ok := file.(*logFile); ok {
		f.gathers = true
		c.RollbackHook(f.forget)
	}
	return nil
}

// forget drops held. It is called after each rollback, whatever caused it.
func (f *logFile) forget() { f.held = f.held[:0] }

func (f *logFile) WriteAt(b []byte, at int64) (int, error) {
	if !f.gathers {
		return f.diskFile.WriteAt(b, at)
	}
	if at != f.at+int64(len(f.held)) || len(f.held)+len(b) > maxGathered {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.at = at
	}
	f.held = append(f.held, b...)
	return len(b), nil
}

// flush writes held to the file. If that fails, held stays, so a sync never confirms less
// than what SQLite believes to be written.
func (f *logFile) flush() error {
	if len(f.held) == 0 {
		return nil
	}
	if _, err := f.File.WriteAt(f.held, f.at); err != nil {
		return cmp.Or(reason(err), vfs.SystemError(err, sqlite3.IOERR_WRITE)) // a write error, whichever operation SQLite called
	}
	if len(f.held) > maxGathered/2 { // more will follow, and the sync would wait for all of it
		beginWriteback(f.File)
	}
	f.held = f.held[:0]
	return nil
}

func (f *logFile) ReadAt(b []byte, at int64) (int, error) {
	if len(f.held) > 0 && at+int64(len(b)) > f.at {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	return f.diskFile.ReadAt(b, at)
}

func (f *logFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.diskFile.Sync(flags)
}

func (f *logFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.diskFile.Size()
}

func (f *logFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.diskFile.Truncate(size)
}
