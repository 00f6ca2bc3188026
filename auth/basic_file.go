package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxBasicFile is the longest file of users that is read, in bytes.
const maxBasicFile = 4 << 20

// basicFile is a file of users that is read again when it changes.
type basicFile struct {
	// set at start, then constant
	path string
	now  func() time.Time
	log  *slog.Logger

	set atomic.Pointer[userSet]

	mu     sync.Mutex        // protects the fields below
	looked time.Time         // when the file was looked at last
	seen   [sha256.Size]byte // hash of its content then or, if it was not good, of the error
}

// lookEvery is the least time between two looks at a file.
const lookEvery = time.Second

func openBasicFile(path string, now func() time.Time, log *slog.Logger) (*basicFile, error) {
	f := &basicFile{path: path, now: now, log: log, looked: now()}
	_, err := f.load()
	return f, err
}

// find returns a user; an unknown one has a decoy for a hash.
func (f *basicFile) find(name string) (u user, known bool) {
	if f.mu.TryLock() { // concurrent callers use what is known
		f.lookLocked()
		f.mu.Unlock()
	}
	set := f.set.Load()
	if u, known = set.byName[name]; !known {
		u.hash = set.decoy
	}
	return u, known
}

// lookLocked reads the file, unless that was done a moment ago.
func (f *basicFile) lookLocked() {
	now := f.now()
	if age := now.Sub(f.looked); 0 <= age && age < lookEvery {
		return
	}
	f.looked = now
	switch changed, err := f.load(); {
	case err != nil:
		if sum := sha256.Sum256([]byte(err.Error())); sum != f.seen { // otherwise it was logged
			f.seen = sum
			f.log.Error("the file of users cannot be used; the users stay as they were", "error", err)
		}
	case changed:
		f.log.Info("the file of users was read again", "users", len(f.set.Load().byName))
	}
}

// load reads the file and reports whether its content is new. On errors the users stay
// as they are.
func (f *basicFile) load() (changed bool, err error) {
	text, err := readCredentials(f.path, maxBasicFile)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		do := "read"
		if p.Op == "open" {
			do = p.Op
		}
		return false, fmt.Errorf("auth: %s the file of users: %w", do, err)
	} else if err == errNotRegular {
		return false, fmt.Errorf("auth: %s is not a regular file", f.path)
	} else if err != nil {
		return false, fmt.Errorf("auth: read the file of users: %w", err)
	}
	if len(text) > maxBasicFile {
		return false, fmt.Errorf("auth: %s has more than %d bytes", f.path, maxBasicFile)
	}
	sum := sha256.Sum256(text)
	if sum == f.seen {
		return false, nil
	}
	set, err := parseUsers(string(text))
	if err != nil {
		return false, fmt.Errorf("auth: %s: %w", f.path, err)
	}
	f.seen = sum
	f.set.Store(set)
	return true, nil
}

var errNotRegular = errors.New("it is not a file")

// readCredentials reads at most limit bytes of a file, and one more. It opens regular
// files only, because opening a pipe would block until somebody writes to it.
func readCredentials(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // it may be another file by now
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// bare removes the path from an error.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
