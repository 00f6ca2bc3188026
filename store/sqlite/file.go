package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/internal/fileowner"
	"github.com/parley-a2a/parley/store"
)

// pageSize is SQLite's default, in bytes.
const pageSize = 4096

// locate makes path absolute, follows links, creates the directory, and refuses a file that
// is obviously not a database of ours before it creates anything beside it.
func locate(path string) (string, error) {
	if path == "" {
		return "", errors.New("sqlite: the database has no path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = real
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("sqlite: open the database: %w", err)
	}
	if err := glance(path); err != nil {
		return "", err
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("sqlite: make a directory for the database: %w", err)
	}
	return path, nil
}

// existing is locate for a database that must exist; otherwise it returns fs.ErrNotExist.
func existing(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", store.Because(fmt.Errorf("sqlite: there is no database at %s; a server makes it when it starts", path), fs.ErrNotExist)
	}
	return locate(path)
}

// makeDir creates the directory of a database. If it creates a hidden one, such as .parley in
// a project, it keeps it out of git, because the database contains tasks and keys.
func makeDir(dir string) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil || !strings.HasPrefix(filepath.Base(dir), ".") {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// glance checks the header of the file, if the file exists.
func glance(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sqlite: open the database: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("sqlite: %s is not a regular file; choose another path", path)
	}
	if info.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sqlite: open the database: %w", err)
	}
	defer f.Close()
	// The application id is at 68, sqlite.org/fileformat.html section 1.3. Each of our files
	// has it from the start, see create.
	header := make([]byte, 72)
	if _, err := io.ReadFull(f, header); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("sqlite: open the database: %w", err)
	}
	if !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) ||
		binary.BigEndian.Uint32(header[68:]) != applicationID {
		return foreign(path)
	}
	return nil
}

// prepare creates the database if there is none; otherwise it checks that the database may be
// opened. The caller holds the lock.
func prepare(path string, sc *schema) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = create(path, sc)
	case err == nil && info.Size() == 0:
		err = create(path, sc)
	case err == nil:
		err = inspect(path, sc)
	}
	if err != nil {
		return err
	}
	return sidecars(path)
}

// sidecars creates the files beside the database. SQLite would create them with the umask's
// mode, although they hold content too. If they already exist, a crash left them or another
// process has them open. If other users can read them, a version that let SQLite create them
// wrote them.
func sidecars(path string) error {
	for _, end := range []string{"-wal", "-shm"} {
		f, err := fileowner.Open(path+end, path, os.O_RDWR)
		if err != nil {
			return unwritable(path, err)
		}
		if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o007 != 0 {
			_ = f.Chmod(info.Mode().Perm() &^ 0o007) // only the owner can; anyone else can use the files as they are
		}
		f.Close()
	}
	return nil
}

// create makes a database beside path and renames it when it is complete, so a crash leaves
// either no database or a complete one.
func create(path string, sc *schema) error {
	// SQLite would apply the log of another, deleted database to this one.
	for _, end := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + end); err == nil && info.Size() > 0 {
			return fmt.Errorf("sqlite: %s is missing or empty but %s is there: bring the database back, or move that file away to begin anew",
				path, filepath.Base(path+end))
		}
	}
	fresh := path + ".new"
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(fresh + end) // left by an attempt that crashed
	}
	f, err := fileowner.Open(fresh, filepath.Dir(path), os.O_WRONLY|os.O_EXCL)
	if err != nil {
		return unwritable(path, err)
	}
	f.Close()
	if err := fill(fresh, sc); err != nil {
		os.Remove(fresh)
		return fmt.Errorf("sqlite: make %s: %w", path, err)
	}
	if err = os.Rename(fresh, path); err == nil {
		err = syncDir(path)
	}
	if err != nil {
		os.Remove(fresh)
		return fmt.Errorf("sqlite: make the database: %w", err)
	}
	return nil
}

// fill turns an empty file into a database, durably.
func fill(path string, sc *schema) error {
	c, err := openConn(path, "rw")
	if err != nil {
		return err
	}
	err = c.Exec(durable)
	if err == nil {
		err = sc.migrate(c, nil)
	}
	if err == nil {
		err = c.Exec("PRAGMA journal_mode = WAL")
	}
	return errors.Join(err, c.close())
}

// inspect opens the database and checks whether it can be used. If not, it leaves all files
// as they were.
func inspect(path string, sc *schema) error {
	var made []string // files that only the check needs
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + end); errors.Is(err, fs.ErrNotExist) {
			made = append(made, path+end)
		}
	}
	err := sidecars(path)
	if err == nil {
		var c *conn
		if c, err = openUnchanged(path, sc); err == nil {
			c.close()
		}
	}
	if err != nil {
		for _, name := range made {
			os.Remove(name)
		}
	}
	return err
}

// openUnchanged opens and verifies a database that has its sidecars, and changes no byte of
// it. By default the last connection to close would move the log into the database; that is
// left to the Store.
func openUnchanged(path string, sc *schema) (*conn, error) {
	c, err := openConn(path, "rw")
	if err != nil {
		return nil, unreadable(path, err)
	}
	if _, err = c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err == nil {
		err = sc.verify(c, path)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// unwritable explains that files cannot be made beside the database.
func unwritable(path string, err error) error {
	return fmt.Errorf("sqlite: the directory of the database must be writable, it holds the write-ahead log and a lock too; change the mode or owner of %s, or choose another directory: %w",
		filepath.Dir(path), err)
}
