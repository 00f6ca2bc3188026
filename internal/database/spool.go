package database

import (
	"context"
	"io"
	"os"
)

// File is a file that can be read more than once.
type File interface {
	io.ReadSeekCloser
	Stat() (os.FileInfo, error)
}

// Spool copies input that can be read only once to a file that is deleted when it is closed.
// The file is beside the database, where there is space and only the same user can read, or
// in the directory for temporary files if the database is on a server. If ctx ends first, a
// read of in may continue.
func (p *Location) Spool(ctx context.Context, in io.Reader) (File, error) {
	dir := p.Data
	if p.Shared() {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "import.*.part")
	if err != nil {
		return nil, err
	}
	spool := &spooled{f}
	copied := make(chan error, 1)
	go func() { // this goroutine cannot be told to stop reading; it ends with the process
		_, err := io.Copy(f, in)
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = spool.Close()
		return nil, err
	}
	return spool, nil
}

// spooled is a file that is deleted when it is closed.
type spooled struct{ *os.File }

func (s *spooled) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name())
	return err
}
