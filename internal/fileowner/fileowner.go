// Package fileowner opens files of a server that commands of root may create, such as parley
// key create under sudo. The server runs as another user, and must be able to use them
// afterwards.
package fileowner

import (
	"errors"
	"io/fs"
	"os"
)

// Open opens a file, or creates it with mode 0600. A file that root creates gets the owner of
// like. An existing file keeps its owner, because it may be a link to another place.
func Open(name, like string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return os.OpenFile(name, flag|os.O_CREATE, 0o600) // it may be removed at this moment
	case err == nil:
		give(f, like)
	}
	return f, err
}
