package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// State is the result of Look.
type State struct {
	Version, Knows int64   // of the schema: of the database, and of this program
	Locked         bool    // a Store has it open
	PID            int     // of the process with the Store; 0: unknown
	Refused        error   // why this program cannot use the database; nil if it can
	Reader         *Reader // to be closed by the caller; nil if nothing can be read without creating files
}

// Look examines a database that may be in use, without changing anything. Unlike OpenReader,
// it creates no files beside it. If there is no database, it returns fs.ErrNotExist; a file
// of another program is an error too.
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
		mode += "&immutable=1" // nothing writes, and the file itself is all there is
	case !there("-shm"): // SQLite would create it
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

// headVersion reads the schema version from the file itself, at offset 60
// (sqlite.org/fileformat.html section 1.3). The write-ahead log may have a newer one.
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

// holder reports whether the lock of a database is held, and by which process. The only way
// to ask is to share the lock for a moment, if it is free.
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
