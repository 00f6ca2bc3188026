package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A fileRoom is the folder that holds the folders of an agent's runs. It is locked
// while its process lives, so that another process that finds it can tell whether it is
// in use, and removes it if not.
type fileRoom struct {
	dir string // the folder in which base is made

	mu   sync.Mutex // protects the fields below
	base string     // "" before the first run
	lock *os.File
}

const roomName = "parley-files-"

// open returns the folder. The first call makes it, and removes those that killed
// servers left.
func (r *fileRoom) open() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base != "" {
		if _, err := os.Lstat(r.base); err == nil {
			return r.base, nil
		}
		// The system may have removed it: some delete old files in their temporary
		// folder.
		r.lock.Close()
		r.base, r.lock = "", nil
	}
	dir := cmp.Or(r.dir, os.TempDir())
	dir, err := filepath.Abs(dir) // the command runs in another directory
	if err != nil {
		return "", err
	}
	sweepRooms(dir)
	base, err := os.MkdirTemp(dir, roomName)
	if err != nil {
		return "", err
	}
	lock, err := lockRoom(base, true)
	if err != nil {
		os.RemoveAll(base)
		return "", err
	}
	r.base, r.lock = base, lock
	return base, nil
}

// close removes the folder, once no run uses it any more.
func (r *fileRoom) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base == "" {
		return nil
	}
	err := os.RemoveAll(r.base)
	r.lock.Close() // nil is fine
	r.base, r.lock = "", nil
	return err
}

// sweepRooms removes the folders of processes that have ended.
func sweepRooms(dir string) {
	found, _ := os.ReadDir(dir)
	for _, e := range found {
		if !strings.HasPrefix(e.Name(), roomName) {
			continue
		}
		base := filepath.Join(dir, e.Name())
		lock, err := lockRoom(base, false)
		if err != nil || lock == nil {
			continue // it is in use, or it is another user's
		}
		(&folders{run: base}).remove()
		lock.Close()
	}
}
