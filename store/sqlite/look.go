package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// State is what Look found.
type State struct {
	Version, Knows int64   // of the database's schema, and of this program's
	Locked         bool    // a Store has it open
	PID            int     // of the process with the Store; 0: not known
	Refused        error   // why this program cannot use the database; nil: it can
	Reader         *Reader // nil: there is nothing to read without making files; the caller closes it
}

// Look looks at a database that may be in use, without changing anything: unlike
// OpenReader it makes no file beside it. Without a database it is fs.ErrNotExist; a
// file of another program is an error, too.
func Look(path string) (*State, error) {
	path, err := existing(path)
	if err != nil {
		return nil, err
	}
	s := &State{Knows: current.version()}
	if s.Version, err = headVersion(path); err != nil {
		return nil, unreadable(path, err)
	}
	s.Locked, s.PID = holder(path)
	there := func(end string) bool {
		info, err := os.Stat(path + end)
		return err == nil && info.Size() > 0
	}
	mode := "ro"
	switch log := there("-wal"); {
	case !log && !s.Locked:
		mode += "&immutable=1" // nobody writes, and there is nothing but the file itself
	case !there("-shm"): // SQLite would make it
		if s.Version > s.Knows {
			s.Refused = newer(path, s.Version, s.Knows)
		}
		return s, nil
	}
	p := newPool(path, 2)
	p.mode = mode
	c, err := openReader(path, mode)
	if err != nil {
		return nil, unreadable(path, err)
	}
	p.open, p.idle = 1, append(p.idle, c)
	if s.Version, err = c.pragma("user_version"); err != nil {
		p.close()
		return nil, unreadable(path, err)
	}
	if s.Refused = current.verify(c, path); s.Refused != nil {
		p.close()
		return s, nil
	}
	s.Reader = &Reader{path: path, readers: p}
	return s, nil
}

// headVersion reads the version of the schema from the file itself: what the
// write-ahead log says of it is not there. It is at 60, sqlite.org/fileformat.html
// section 1.3.
func headVersion(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.ReadAt(b[:], 60); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is cut off")
		}
		return 0, err
	}
	return int64(int32(binary.BigEndian.Uint32(b[:]))), nil
}

// holder says who has the lock of a database, without taking it for itself: a lock that
// is shared for a moment is the only way to ask.
func holder(path string) (locked bool, pid int) {
	f, err := os.Open(path + ".lock")
	if err != nil {
		return false, 0
	}
	defer f.Close()
	if !isLocked(f) {
		return false, 0 // left by a crash
	}
	return true, pidIn(f)
}
