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

	mu      sync.Mutex        // protects the fields below
	looked  time.Time         // when the file was looked at last
	stamp   os.FileInfo       // of the file as it was read last, good or not; nil: to be read
	sum     [sha256.Size]byte // of its content when it was good last
	failure string            // what was logged about it
}

// How often a file is looked at, and how long after its time it may change without
// showing it.
const (
	lookEvery = time.Second
	youngFile = 2 * time.Second
)

func openBasicFile(path string, now func() time.Time, log *slog.Logger) (*basicFile, error) {
	f := &basicFile{path: path, now: now, log: log}
	if _, err := f.load(); err != nil {
		return nil, err
	}
	f.looked = now()
	return f, nil
}

// find returns a user; an unknown one has a decoy for a hash.
func (f *basicFile) find(name string) (u user, known bool) {
	if f.mu.TryLock() { // concurrent callers use what is known
		f.look()
		f.mu.Unlock()
	}
	set := f.set.Load()
	if u, known = set.byName[name]; !known {
		u.hash = set.decoy
	}
	return u, known
}

// look reads the file if it seems to have changed. The lock is held.
func (f *basicFile) look() {
	now := f.now()
	if age := now.Sub(f.looked); 0 <= age && age < lookEvery {
		return
	}
	f.looked = now
	if info, err := os.Stat(f.path); err == nil && f.stamp != nil &&
		os.SameFile(info, f.stamp) && info.ModTime().Equal(f.stamp.ModTime()) && info.Size() == f.stamp.Size() {
		return
	}
	switch changed, err := f.load(); {
	case err != nil && err.Error() != f.failure:
		f.failure = err.Error()
		f.log.Error("the file of users cannot be used; the users stay as they were", "error", err)
	case err == nil:
		if changed || f.failure != "" {
			f.log.Info("the file of users was read again", "users", len(f.set.Load().byName))
		}
		f.failure = ""
	}
}

// load reads the file and reports whether its content has changed. On errors the users
// stay as they are.
func (f *basicFile) load() (changed bool, err error) {
	text, info, err := readCredentials(f.path, maxBasicFile)
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
	f.stamp = info
	if time.Since(info.ModTime()).Abs() < youngFile {
		f.stamp = nil // it may be changed once more within the same tick of its clock
	}
	if len(text) > maxBasicFile {
		return false, fmt.Errorf("auth: %s has more than %d bytes", f.path, maxBasicFile)
	}
	sum := sha256.Sum256(text)
	if sum == f.sum && f.set.Load() != nil {
		return false, nil
	}
	set, err := parseUsers(string(text))
	if err != nil {
		return false, fmt.Errorf("auth: %s: %w", f.path, err)
	}
	f.sum = sum
	f.set.Store(set)
	return true, nil
}

var errNotRegular = errors.New("it is not a file")

// readCredentials reads at most limit bytes of a file, and one more, and returns its
// FileInfo from just before. It opens regular files only, because opening a pipe would
// block until somebody writes to it.
func readCredentials(name string, limit int64) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // it may be another file by now
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	return text, info, err
}

// bare removes the path from an error.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
