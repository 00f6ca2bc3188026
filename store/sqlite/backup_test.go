package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

func mustRead(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A reader sees committed data while the writer works, and leaves nothing behind that breaks
// a later Open.
func TestReaderBesideAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	if _, err := OpenReader(path); err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Errorf("a reader of nothing: %v", err)
	}
	st := mustOpen(t, path, nil)
	r := mustRead(t, path)
	for i := range 3 {
		a := task(fmt.Sprint(i), 100)
		mustAppend(t, st, a)
		if rec, err := r.Get(t.Context(), a.Row.Key, store.RowOnly); err != nil || rec.Last != 1 {
			t.Errorf("the reader got %+v, %v", rec, err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also without a store
		if rows, err := r.Tasks(t.Context(), nil, 10); err != nil || len(rows) != 3 {
			t.Errorf("%d tasks, %v", len(rows), err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = mustRead(t, path)
	}
	st = mustOpen(t, path, nil) // beneath the reader
	mustAppend(t, st, task("4", 1))
	r.Close()
	storetest.Check(t, st, task("4", 0).Row.Key)
}

// A backup made under load, from another connection and after a crash, holds
// all that was acknowledged before it began, and opens as a store.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.db")
	st := mustOpen(t, path, nil)
	var stop atomic.Bool
	var acked, allowed atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; !stop.Load(); i++ {
			for int64(i) >= allowed.Load() && !stop.Load() { // each backup is checked, task by task
				runtime.Gosched()
			}
			a := task(fmt.Sprint(i), 500)
			a.Blobs = []store.Blob{{Hash: fmt.Sprint(i), Data: make([]byte, 100)}}
			if err := store.Do(context.Background(), st, a); err != nil {
				t.Error(err)
				return
			}
			acked.Store(int64(i) + 1)
		}
	}()
	for round := range 5 {
		allowed.Store(int64(300 * (round + 1)))
		for acked.Load() < int64(100*(round+1)) {
			runtime.Gosched()
		}
		file := filepath.Join(dir, fmt.Sprintf("it's %d.db", round))
		before := acked.Load()
		r := mustRead(t, path)
		part := ""
		if err := r.Backup(t.Context(), file, func(name string) { part = name }); err != nil || !strings.HasPrefix(part, file+".") {
			t.Fatalf("%v, by %s", err, part)
		}
		if r.Size(t.Context()) <= 0 {
			t.Error("nobody knows how large it is")
		}
		if err := r.Backup(t.Context(), file, nil); err == nil || !strings.Contains(err.Error(), "it exists") {
			t.Errorf("a second backup to the same file: %v", err)
		}
		r.Close()
		wantMode(t, file, 0o600)
		copied := mustOpen(t, file, nil)
		page, err := copied.List(t.Context(), store.Query{Owner: "owner", Limit: 1})
		if err != nil || int64(page.Total) < before {
			t.Errorf("the backup has %d tasks, %d were acknowledged: %v", page.Total, before, err)
		}
		last := task(fmt.Sprint(before-1), 0).Row.Key
		storetest.Check(t, copied, last)
		if _, err := copied.Blob(t.Context(), last.ID); err != nil {
			t.Error(err)
		}
		mustAppend(t, copied, task("new", 10))
		copied.Close()
	}
	stop.Store(true)
	<-ended
	names, _ := filepath.Glob(filepath.Join(dir, "*.part*"))
	if len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
	r := mustRead(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Backup(ctx, filepath.Join(dir, "never.db"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup whose context has ended: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "never.db")); err == nil {
		t.Error("it left a file")
	}
	if err := r.Backup(t.Context(), filepath.Join(dir, "no", "such", "directory.db"), nil); err == nil {
		t.Error("a backup into a directory that is not there")
	}
}

// A database whose process was killed is read and backed up without opening
// it as a store.
func TestBackupAfterACrash(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	mustAppend(t, st, task("a", 500))
	path := crashed(t, st)
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := mustRead(t, path).Backup(t.Context(), file, nil); err != nil {
		t.Fatal(err)
	}
	storetest.Check(t, mustOpen(t, file, nil), task("a", 0).Row.Key)
	storetest.Check(t, mustOpen(t, path, nil), task("a", 0).Row.Key)
}

// A damaged database makes no backup.
func TestBackupOfDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	for i := range 200 {
		mustAppend(t, st, task(fmt.Sprint(i), 2000))
	}
	st.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[20*pageSize:], bytes.Repeat([]byte{0xa5}, 20*pageSize))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	r, err := OpenReader(path)
	if err == nil {
		err = r.Backup(t.Context(), file, nil)
		r.Close()
	}
	if err == nil {
		t.Error("it was backed up")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it left a file")
	}
}

// deleteEnv tells a copy of the test binary to delete until it is killed.
const deleteEnv = "PARLEY_TEST_DELETE"

// deleteUntilKilled deletes long tasks and makes new ones.
func deleteUntilKilled(path string) error {
	st, err := Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := 0; ; i++ {
		rows, err := st.Tasks(ctx, nil, 100)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if _, err := st.Delete(ctx, []store.Row{r}); err != nil {
				return err
			}
			fmt.Println("deleted", r.ID)
		}
		for j := range 4 {
			a := task(fmt.Sprint("task ", j), 10)
			a.Blobs = []store.Blob{{Hash: fmt.Sprint("blob ", j), Data: []byte("x")}}
			a.Receipts = []store.Receipt{{Name: a.Row.ID, Time: began, Until: began.Add(1e9), Seq: 1}}
			if err := store.Do(ctx, st, a); err != nil {
				return err
			}
			var batch []*store.Append
			for range 400 {
				a = goOn(a)
				batch = append(batch, a)
			}
			for _, err := range queued(st, batch) {
				if err != nil {
					return err
				}
			}
		}
	}
}

// A process that is killed while it deletes leaves each task whole or deleted, nothing that a
// later task could inherit, and no garbage for ever.
func TestKilledWhileDeleting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	var keys []store.Key
	for j := range 4 {
		keys = append(keys, task(fmt.Sprint("task ", j), 0).Row.Key)
	}
	rests := 0
	for round := range 8 {
		killAfterEnv(t, deleteEnv, path, []int{1, 3, 6, 9}[round%4])
		st := mustOpen(t, path, nil)
		storetest.Check(t, st, keys...)
		checkTally(t, path)
		rows(t, st, "PRAGMA user_version") // any read: the writer works
		if count(t, st, "SELECT count(*) FROM doomed") > 0 {
			rests++
		}
		fresh := task(fmt.Sprint("fresh ", round), 10)
		mustAppend(t, st, fresh)
		if es, err := st.Entries(t.Context(), fresh.Row.Key, 0, 0); err != nil || len(es) != 1 {
			t.Errorf("a new task has %d entries, %v", len(es), err)
		}
		if _, err := st.Delete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			"SELECT count(*) FROM doomed",
			"SELECT count(*) FROM entry WHERE task NOT IN (SELECT key FROM task)",
			"SELECT count(*) FROM seal WHERE task NOT IN (SELECT key FROM task)",
			"SELECT count(*) FROM blob_task WHERE task NOT IN (SELECT key FROM task)",
			"SELECT count(*) FROM receipt WHERE task > 0 AND task NOT IN (SELECT key FROM task)",
			"SELECT count(*) FROM blob WHERE key NOT IN (SELECT blob FROM blob_task)",
		} {
			if n := count(t, st, q); n != 0 {
				t.Errorf("round %d: %s: %d", round, q, n)
			}
		}
		storetest.Check(t, st, append(keys, fresh.Row.Key)...)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of 8 rounds left a rest", rests)
}

func count(t testing.TB, st *Store, sql string) (n int) {
	t.Helper()
	st.writing.Lock()
	defer st.writing.Unlock()
	n64 := int64(0)
	s, _, err := st.writer.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Step() {
		n64 = s.ColumnInt64(0)
	}
	return int(n64)
}

func killAfterEnv(t *testing.T, env, path string, lines int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1)
	for lines > 0 {
		if _, err := out.Read(buf); err != nil {
			t.Fatal(err)
		}
		if buf[0] == '\n' {
			lines--
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// leaving is a context that ends at the n-th call of Err, n being the initial left.
type leaving struct {
	context.Context
	end  func(error)
	left int
}

var errLeft = errors.New("the operator left")

func (l *leaving) Err() error {
	if l.left--; l.left == 0 {
		l.end(errLeft)
	}
	return l.Context.Err()
}

// A backup that is canceled returns the cause, whatever it was doing at that moment, and does
// not report a fault of the copy or the database.
func TestBackupIsCanceled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	mustAppend(t, mustOpen(t, path, nil), task("a", 500))
	r := mustRead(t, path)
	for n := 1; ; n++ {
		ctx, end := context.WithCancelCause(t.Context())
		file := filepath.Join(t.TempDir(), "copy.db")
		err := r.Backup(&leaving{ctx, end, n}, file, nil)
		over := ctx.Err() == nil // it ended before
		end(nil)
		if over && err == nil {
			t.Logf("it looks %d times whether it is canceled", n-1)
			return
		}
		if err != nil && !errors.Is(err, errLeft) {
			t.Fatalf("canceled at look %d: %v", n, err)
		}
	}
}

// A backup replaces no file that appeared while it was made, also where the file system has
// no links.
func TestBackupWithoutLinks(t *testing.T) {
	was := link
	link = func(string, string) error { return errors.ErrUnsupported }
	t.Cleanup(func() { link = was })
	path := filepath.Join(t.TempDir(), "parley.db")
	mustAppend(t, mustOpen(t, path, nil), task("a", 500))
	r := mustRead(t, path)
	file := filepath.Join(t.TempDir(), "copy.db")
	err := r.Backup(t.Context(), file, func(string) {
		if err := os.WriteFile(file, []byte("of another"), 0o600); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "it exists") {
		t.Errorf("over a file that appeared meanwhile: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "of another" {
		t.Errorf("that file has %d bytes, %v", len(b), err)
	}
	file = filepath.Join(t.TempDir(), "copy.db")
	if err := r.Backup(t.Context(), file, nil); err != nil {
		t.Fatal(err)
	}
	storetest.Check(t, mustOpen(t, file, nil), task("a", 0).Row.Key)
}
