package sqlite

import (
	"cmp"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// maxGathered caps what is held back of the write-ahead log, in bytes.
const maxGathered = 1 << 20

// logFile is a write-ahead log. SQLite writes each page of a commit with two
// calls, one for the frame's header; on the connection that writes, these are
// gathered, so that a commit is one write and one sync.
//
// Nobody misses what is held back. With synchronous=FULL SQLite syncs the log
// at the end of each commit, before it enters the frames into the log's index,
// from which alone others know of them (sqlite3WalFrames: sqlite3OsSync, then
// walIndexAppend and walIndexWriteHdr). So nothing is held any more once a
// commit is seen or acknowledged, and an error of the write is one of the
// commit. Frames of a transaction that outgrew the cache are not synced, but
// seen by its own connection only, which reads through this file. Those of one
// that was rolled back must not reach the log any more, for its place in it is
// free to others from then on: see forget.
//
// One goroutine at a time, as its connection.
type logFile struct {
	diskFile
	gathers bool
	held    []byte // written by SQLite, and not to the file yet
	at      int64  // where held belongs
}

// gather makes a connection gather what it writes to the log. It must sync each
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

// forget drops what is held. It is called when a transaction was rolled back,
// however it came to that.
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

// flush writes what is held. If that fails it stays, so that nothing which
// SQLite takes for written is ever missing from what a sync confirms.
func (f *logFile) flush() error {
	if len(f.held) == 0 {
		return nil
	}
	if _, err := f.File.WriteAt(f.held, f.at); err != nil {
		return cmp.Or(reason(err), vfs.SystemError(err, sqlite3.IOERR_WRITE)) // whatever SQLite was about to do
	}
	if len(f.held) > maxGathered/2 { // there is more to come, which the sync would wait for
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
