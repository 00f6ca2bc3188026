package auth

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

var errNotRegular = errors.New("it is not a file")

// readCredentials reads a file, limit bytes and one more at most, and returns how it
// looked just before. It opens regular files only: to open a pipe would block until
// somebody writes to it.
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
	if info, err = f.Stat(); err != nil { // which may be another file by now
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	return text, info, err
}

// bare takes the path off an error.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
