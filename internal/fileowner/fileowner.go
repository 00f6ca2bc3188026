// Package fileowner opens files of a server that commands of root may make, such as
// parley key create under sudo. The server runs as another user, and must be able to
// go on with them.
package fileowner

import (
	"errors"
	"io/fs"
	"os"
)

// Open opens a file, or makes it with mode 0600. One that root makes belongs to the owner
// of like. One that was there before keeps its owner: it may be a link to somewhere else.
func Open(name, like string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return os.OpenFile(name, flag|os.O_CREATE, 0o600) // it may be removed just now
	case err == nil:
		give(f, like)
	}
	return f, err
}
