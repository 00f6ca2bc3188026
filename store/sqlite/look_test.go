package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Look describes a database, whichever process has it open, and leaves the directory
// unchanged.
func TestLook(t *testing.T) {
	names := func(path string) (list []string) {
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			list = append(list, f.Name())
		}
		return list
	}
	look := func(path string) (*State, error) {
		t.Helper()
		before := names(path)
		s, err := Look(path)
		if after := names(path); !slices.Equal(before, after) {
			t.Errorf("there were %v, and there are %v", before, after)
		}
		if s != nil && s.Reader != nil {
			rows, err := s.Reader.Tasks(t.Context(), nil, 10)
			if err != nil || len(rows) != 1 {
				t.Errorf("%d tasks, %v", len(rows), err)
			}
			if _, err := s.Reader.Kept(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Reader.Close(); err != nil {
				t.Error(err)
			}
		}
		return s, err
	}
	if _, err := look(filepath.Join(t.TempDir(), "parley.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	path := made(t, "")
	if s, err := look(path); err != nil || s.Version != current.version() || s.Knows != s.Version || s.Locked || s.Refused != nil || s.Reader == nil {
		t.Errorf("%+v, %v", s, err)
	}
	st := mustOpen(t, path, nil)
	if s, err := look(path); err != nil || !s.Locked || s.PID != os.Getpid() || s.Reader == nil {
		t.Errorf("in use: %+v, %v", s, err)
	}
	if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "in use by this process") {
		t.Errorf("the lock is gone: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, nil).Close() // it was left unlocked

	newer := made(t, "PRAGMA user_version = 99")
	if s, err := look(newer); err != nil || s.Version != 99 || s.Refused == nil || !strings.Contains(s.Refused.Error(), "schema 99") {
		t.Errorf("newer: %+v, %v", s, err)
	}
	if s, err := look(made(t, "CREATE TABLE diary (a)")); err != nil || s.Refused == nil {
		t.Errorf("with another table: %+v, %v", s, err)
	}
	foreign := filepath.Join(t.TempDir(), "parley.db")
	if err := os.WriteFile(foreign, []byte("dear diary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := look(foreign); err == nil || !strings.Contains(err.Error(), "not a database of this program") {
		t.Errorf("a foreign file: %v", err)
	}
}

// TestLookWhileOpening: a database whose lock file a crash left can be opened while another
// process looks whether it is open.
func TestLookWhileOpening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	if err := os.WriteFile(path+".lock", []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, looks := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				looks <- n
				return
			default:
				holder(path)
				n++
			}
		}
	}()
	for range 500 {
		l, err := acquire(path)
		if err != nil {
			t.Error(err)
			break
		}
		l.file.Close() // as a crash does: the lock file stays
	}
	close(stop)
	t.Logf("%d looks", <-looks)
}
