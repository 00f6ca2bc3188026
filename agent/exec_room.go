package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A fileRoom is the folder below which the folders of an agent's runs are. It is
// locked for as long as its process lives; so another process, which finds it, can
// tell whether somebody uses it, and takes it away if not.
type fileRoom struct {
	dir string // where it is made

	mu   sync.Mutex // protects the fields below
	base string     // "" before the first run
	lock *os.File
}

const roomName = "parley-files-"

// open returns the folder. The first call makes it, and takes away what killed
// servers left.
func (r *fileRoom) open() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base != "" {
		if _, err := os.Lstat(r.base); err == nil {
			return r.base, nil
		}
		// Systems take away what is old in their folder for temporary files.
		r.lock.Close()
		r.base, r.lock = "", nil
	}
	dir := cmp.Or(r.dir, os.TempDir())
	dir, err := filepath.Abs(dir) // the command runs elsewhere
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

// close takes the folder away, once no run uses it any more.
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

// sweepRooms takes away the folders of processes that are gone.
func sweepRooms(dir string) {
	found, _ := os.ReadDir(dir)
	for _, e := range found {
		if !strings.HasPrefix(e.Name(), roomName) {
			continue
		}
		base := filepath.Join(dir, e.Name())
		lock, err := lockRoom(base, false)
		if err != nil || lock == nil {
			continue // somebody uses it, or it is not ours to judge
		}
		(&folders{run: base}).remove()
		lock.Close()
	}
}
