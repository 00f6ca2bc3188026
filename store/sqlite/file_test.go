package sqlite

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var began = time.Date(2026, 11, 21, 9, 8, 7, 654e6, time.UTC)

// task is the append that begins a task.
func task(id string, body int) *store.Append {
	return &store.Append{
		Row:     store.Row{Key: store.Key{Owner: "owner", ID: id}, State: 1, Updated: began, Created: began, Epoch: 1},
		Entries: []store.Entry{{Seq: 1, Time: began, Kind: 1, Body: make([]byte, body)}},
	}
}

// goOn is the append that follows a, without its receipts and push configs.
func goOn(a *store.Append) *store.Append {
	next := *a
	next.Receipts, next.Pushes, next.Letters = nil, nil, nil
	next.After, next.Epoch = a.After+int64(len(a.Entries)), a.Row.Epoch
	next.Entries = []store.Entry{{Seq: next.After + 1, Time: began, Kind: 2, Body: a.Entries[0].Body}}
	return &next
}

func mustAppend(t testing.TB, st store.Store, a *store.Append) {
	t.Helper()
	if err := store.Do(t.Context(), st, a); err != nil {
		t.Fatalf("append to %s: %v", a.Row.ID, err)
	}
}

// contents are the files of a directory.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// wantRefused opens a database and wants an error that says so and nothing
// changed.
func wantRefused(t *testing.T, path, says string) {
	t.Helper()
	before := contents(t, filepath.Dir(path))
	st, err := Open(path, nil)
	if err == nil {
		st.Close()
		t.Fatal("it was opened")
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error %q does not say %q", err, says)
	}
	after := contents(t, filepath.Dir(path))
	if !maps.Equal(before, after) {
		t.Errorf("files were changed: %v before, %v after",
			slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

func TestOpenMakesFileAndDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	path := filepath.Join(dir, "parley.db")
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("a", 10))
	names := []string{"parley.db", "parley.db-shm", "parley.db-wal", "parley.db.lock"}
	if d := cmp.Diff(names, slices.Sorted(maps.Keys(contents(t, dir)))); d != "" {
		t.Errorf("files while open (-want +got):\n%s", d)
	}
	if runtime.GOOS != "windows" {
		wantMode(t, dir, 0o700)
		for _, name := range names {
			wantMode(t, filepath.Join(dir, name), 0o600)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"parley.db"}, slices.Sorted(maps.Keys(contents(t, dir)))); d != "" {
		t.Errorf("files after Close (-want +got):\n%s", d)
	}
}

// However a database came to exist, other users cannot read the files beside it.
func TestFilesBesideAreNotForOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no file modes")
	}
	beside := func(t *testing.T, path string) {
		t.Helper()
		for _, end := range []string{"-wal", "-shm"} {
			wantMode(t, path+end, 0o600)
		}
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	mustOpen(t, path, nil).Close()
	t.Run("a second start", func(t *testing.T) {
		st := mustOpen(t, path, nil)
		defer st.Close()
		beside(t, path)
	})
	t.Run("a vault", func(t *testing.T) {
		v, err := OpenVault(path)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		beside(t, path)
	})
	t.Run("a reader", func(t *testing.T) {
		r, err := OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		beside(t, path)
	})
	t.Run("left by a version that did not see to it", func(t *testing.T) {
		for _, end := range []string{"-wal", "-shm"} {
			if err := os.WriteFile(path+end, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path+end, 0o604); err != nil {
				t.Fatal(err)
			}
		}
		st := mustOpen(t, path, nil)
		defer st.Close()
		beside(t, path)
	})
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %o, want %o", filepath.Base(path), got, want)
	}
}

func TestOpenTakesEmptyFileAndLeftovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	// An attempt to make it crashed half way, and its process had the lock.
	for name, text := range map[string]string{"": "", ".new": "half a database", ".new-journal": "x", ".lock": "1"} {
		if err := os.WriteFile(path+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("a", 10))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(contents(t, filepath.Dir(path)))); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestOpenFollowsLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "link.db")
	mustOpen(t, filepath.Join(other, "real.db"), nil).Close()
	if err := os.Symlink(filepath.Join(other, "real.db"), link); err != nil {
		t.Skip("no symbolic links here")
	}
	st := mustOpen(t, link, nil)
	mustAppend(t, st, task("a", 10))
	if _, err := Open(filepath.Join(other, "real.db"), nil); err == nil {
		t.Error("opened twice, by two names")
	}
}

func TestOpenTwiceIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("a", 10))
	_, err := Open(path, nil)
	if err == nil || !strings.Contains(err.Error(), "in use by this process") {
		t.Errorf("second open: %v", err)
	}
	mustAppend(t, st, task("b", 10)) // the first is not disturbed
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = mustOpen(t, path, nil)
	storetest.Check(t, st, task("a", 1).Row.Key, task("b", 1).Row.Key)
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	// plain makes an SQLite database that is not ours.
	plain := func(t *testing.T, path, sql string) {
		c, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	for what, make := range map[string]func(t *testing.T, path string){
		"a text": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("Dear diary, "+strings.Repeat("nothing. ", 100)), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"a short text": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"the beginning of a database": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("SQLite format 3\x00"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"another program's database": func(t *testing.T, path string) {
			plain(t, path, "CREATE TABLE diary (day, text); INSERT INTO diary VALUES (1, 'nothing')")
		},
		"another program's database in WAL mode": func(t *testing.T, path string) {
			plain(t, path, "PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE task (a)")
		},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			make(t, path)
			wantRefused(t, path, "not a database of this program")
		})
	}
	t.Run("a directory", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("open a directory: %v", err)
		}
	})
}

// made makes a database with a task, lets change alter it, and returns its
// path.
func made(t *testing.T, change string) string {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	mustAppend(t, st, task("a", 10_000))
	if err := st.writer.Exec(change); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStrangeDatabasesAreLeftAlone(t *testing.T) {
	t.Run("newer version", func(t *testing.T) {
		wantRefused(t, made(t, "PRAGMA user_version = 99; CREATE TABLE later (a)"), fmt.Sprintf("newer version of this program (schema 99, this one knows %d)", current.version()))
	})
	t.Run("unknown table", func(t *testing.T) {
		wantRefused(t, made(t, "CREATE TABLE diary (a)"), `table "diary"`)
	})
	t.Run("no version", func(t *testing.T) {
		wantRefused(t, made(t, "PRAGMA user_version = 0"), "not a database of this program")
	})
}

// A crash may have left the newer version in the write-ahead log only.
func TestNewerVersionInTheLogIsLeftAlone(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	mustAppend(t, st, task("a", 10))
	if err := st.writer.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, crashed(t, st), "newer version")
}

// crashed copies the files of an open store as kill -9 would leave them.
func crashed(t *testing.T, st *Store) string {
	t.Helper()
	from := strings.TrimSuffix(st.lock.file.Name(), ".lock")
	to := filepath.Join(t.TempDir(), "parley.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestDamagedFilesAreLeftAlone(t *testing.T) {
	for what, damage := range map[string]func(b []byte) []byte{
		"cut":              func(b []byte) []byte { return b[:pageSize+100] },
		"schema garbled":   func(b []byte) []byte { copy(b[100:], strings.Repeat("garbage!", 400)); return b },
		"page size absurd": func(b []byte) []byte { b[16], b[17] = 3, 7; return b },
	} {
		t.Run(what, func(t *testing.T) {
			path := made(t, "")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			wantRefused(t, path, "damaged")
		})
	}
}

// Damage deep inside is found when it is read: an error, not a wrong answer.
func TestDamageInsideIsAnError(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.db")
	mustOpen(t, empty, nil).Close()
	info, err := os.Stat(empty)
	if err != nil {
		t.Fatal(err)
	}
	path := made(t, "")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := int(info.Size()); at < len(b); at++ { // the pages that the entry's body needed
		b[at] = 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	st := mustOpen(t, path, nil)
	if es, err := st.Entries(t.Context(), task("a", 1).Row.Key, 0, 0); err == nil {
		t.Errorf("%d entries read from a damaged page", len(es))
	}
	if _, err := st.Get(t.Context(), task("a", 1).Row.Key, store.Whole); err != nil {
		t.Errorf("what is not damaged cannot be read: %v", err)
	}
}

func TestLogWithoutDatabaseIsRefused(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	mustAppend(t, st, task("a", 10))
	path := crashed(t, st)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, path, "parley.db-wal is there")
}

// A hidden directory created for a database is kept out of git. An existing directory is left
// alone, even if a user created it for the database.
func TestMadeDirectoriesKeepOutOfGit(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]bool{".parley": true, "data": false, ".there": false} {
		if name == ".there" {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		st, err := Open(filepath.Join(dir, name, "parley.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name, ".gitignore"))
		if got := err == nil && string(text) == "*\n"; got != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
