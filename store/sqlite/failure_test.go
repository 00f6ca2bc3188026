package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

func TestClassOf(t *testing.T) {
	for _, c := range []struct{ err, want error }{
		{nil, nil},
		{errors.New("something else"), nil},
		{sqlite3.FULL, store.ErrFull},
		{sqlite3.IOERR_SHMSIZE, store.ErrFull},
		{sqlite3.READONLY, store.ErrReadOnly},
		{sqlite3.READONLY_DBMOVED, store.ErrReadOnly},
		{sqlite3.PERM, store.ErrReadOnly},
		{sqlite3.BUSY, store.ErrBusy},
		{sqlite3.BUSY_RECOVERY, store.ErrBusy},
		{sqlite3.LOCKED, store.ErrBusy},
		{sqlite3.IOERR_WRITE, nil},
		{sqlite3.CORRUPT, nil},
		{sqlite3.INTERRUPT, nil},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, store.ErrReadOnly},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, nil},
	} {
		if got := classOf(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
		err := wrap("write", c.err)
		if c.err == nil {
			if err != nil {
				t.Errorf("of nothing: %v", err)
			}
			continue
		}
		if !errors.Is(err, c.err) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v wrapped: %v", c.err, err)
		}
		if want := fmt.Sprintf("sqlite: write: %v", c.err); err.Error() != want {
			t.Errorf("text %q, want %q", err, want)
		}
	}
}

// impatient lets connections that are opened in a test wait only a moment for other programs.
func impatient(t *testing.T) {
	was := patience
	patience = 10 * time.Millisecond
	t.Cleanup(func() { patience = was })
}

// Another program, as the sqlite3 shell, holds a transaction open.
func TestLockedByAnother(t *testing.T) {
	impatient(t)
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	other, err := openConn(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	testTrouble(t, st, func(locked bool) {
		sql := "ROLLBACK"
		if locked {
			sql = "BEGIN EXCLUSIVE"
		}
		if err := other.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}, store.ErrBusy, false)
}

// Its transaction ends in time, so no caller notices.
func TestLockedForAMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	other, err := openConn(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	st.Append(task("a", 1), func(err error) { done <- err })
	if _, err := st.List(t.Context(), store.Query{Owner: "owner", Limit: 1}); err != nil {
		t.Errorf("a reader beside the lock: %v", err)
	}
	if err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the append: %v", err)
	}
}

// SQLite itself refuses to write.
func TestReadOnlyConnection(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	testTrouble(t, st, func(broken bool) {
		st.writing.Lock()
		defer st.writing.Unlock()
		if err := st.writer.Exec(fmt.Sprintf("PRAGMA query_only = %t", broken)); err != nil {
			t.Fatal(err)
		}
	}, store.ErrReadOnly, false)
}

func TestOpenIsBusy(t *testing.T) {
	impatient(t)
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	if _, err := Open(path, nil); !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "in use by this process") {
		t.Errorf("a second open: %v", err)
	}
	mustAppend(t, st, task("a", 1))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := openConn(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.Exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM secret; COMMIT"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, nil); !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "locked by another program") {
		t.Errorf("open what another program has locked: %v", err)
	}
	if err := other.close(); err != nil {
		t.Fatal(err)
	}
	st = mustOpen(t, path, nil)
	if _, err := st.Get(t.Context(), task("a", 1).Row.Key, store.RowOnly); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// testTrouble makes all writes fail and checks their reason. late means that a write fails so
// late that a crash may bring it back.
func testTrouble(t *testing.T, st *Store, fails func(bool), want error, late bool) {
	t.Helper()
	ctx := t.Context()
	a := task("a", 100)
	a.Row.Active, a.Row.Node = true, "dead"
	a.Receipts = []store.Receipt{{Name: "a", Time: began, Until: began, Seq: 1}}
	p := store.PushConfig{Key: a.Row.Key, ID: "p", Created: began, Node: "dead", Live: true}
	letter := store.DeadLetter{PushID: p.PushID(), Seq: 1, Time: began}
	a.Pushes, a.Letters = []store.PushConfig{p}, []store.DeadLetter{letter}
	idle := task("idle", 10)
	mustAppend(t, st, a)
	mustAppend(t, st, idle)
	waits := task("waits", 10)
	waits.Row.Active = true
	mustAppend(t, st, waits)
	r, err := st.Get(ctx, idle.Row.Key, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}

	fails(true)
	b := goOn(a)
	b.Receipts = []store.Receipt{{Name: "b", Time: began, Until: began.Add(1e9), Seq: 2}}
	fresh := task("fresh", 100)
	errs := map[string]error{}
	for i, err := range queued(st, []*store.Append{b, fresh, task("third", 9)}) {
		errs[fmt.Sprint("append ", i)] = err
	}
	errs["beat"] = st.Beat(ctx, "me", began)
	errs["leave"] = st.Leave(ctx, "me")
	claimed, err := st.Claim(ctx, "me", began, 9)
	errs["claim"] = err
	drawn, err := st.Draw(ctx, "me", "", 9)
	if errs["draw"] = err; len(claimed)+len(drawn) > 0 {
		t.Errorf("claimed %+v and drew %+v, which was rolled back", claimed, drawn)
	}
	_, errs["take"] = st.Take(ctx, "me", began, a.Row.Key)
	_, errs["secret"] = st.Secret(ctx, "s")
	_, errs["forget"] = st.Forget(ctx, store.ForgetQuery{Before: began, Limit: 9})
	_, errs["delete"] = st.Delete(ctx, []store.Row{r.Row})
	changed := p
	changed.Created = began.Add(1e9)
	letter.Again = true
	errs["set push config"] = st.SetPush(ctx, &changed)
	errs["drop push config"] = st.DropPush(ctx, p.PushID())
	errs["advance"] = st.Advance(ctx, []store.Advance{{PushID: p.PushID(), Created: began, Progress: store.Progress{Cursor: 1}}})
	_, errs["claim push configs"] = st.ClaimPushes(ctx, "me", began, 9)
	errs["set letters"] = st.SetLetters(ctx, []store.DeadLetter{letter}, false)
	_, errs["keep"] = st.Keep(ctx, "kept", nil, []byte("value"))
	for what, err := range errs {
		if err == nil {
			t.Errorf("%s: it is acknowledged", what)
		}
		for _, class := range []error{store.ErrFull, store.ErrReadOnly, store.ErrBusy} {
			if errors.Is(err, class) != (class == want) {
				t.Errorf("%s: %v is %v: %t", what, err, class, class != want)
			}
		}
	}
	unchanged := func(st *Store) {
		t.Helper()
		storetest.Check(t, st, a.Row.Key, fresh.Row.Key, idle.Row.Key)
		if g, err := st.Get(ctx, a.Row.Key, store.Whole); err != nil || g.Last != 1 || g.Node != "dead" {
			t.Errorf("the task: %+v, %v", g, err)
		}
		if rs, err := st.Receipts(ctx, a.Row.Key); err != nil || len(rs) != 1 || rs[0].Name != "a" {
			t.Errorf("its receipts: %+v, %v", rs, err)
		}
		if got, err := st.Push(ctx, p.PushID()); err != nil || got.Node != "dead" || !got.Live || got.Cursor != 0 || !got.Created.Equal(began) {
			t.Errorf("its push config: %+v, %v", got, err)
		}
		if ls, err := st.DeadLetters(ctx, store.LetterQuery{Limit: 9}); err != nil || len(ls) != 1 || ls[0].Again {
			t.Errorf("its dead letters: %+v, %v", ls, err)
		}
		if kept, err := st.Kept(ctx); err != nil || len(kept) != 0 {
			t.Errorf("what is kept: %q, %v", kept, err)
		}
		if _, err := st.Get(ctx, fresh.Row.Key, store.Whole); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what was refused is there: %v", err)
		}
		if _, err := st.Get(ctx, idle.Row.Key, store.Whole); err != nil {
			t.Errorf("what was not deleted: %v", err)
		}
	}
	unchanged(st)
	if !late {
		unchanged(mustOpen(t, crashed(t, st), nil))
	}

	fails(false)
	mustAppend(t, st, fresh)
	mustAppend(t, st, b)
	if err := st.Beat(ctx, "me", began); err != nil {
		t.Errorf("a beat afterwards: %v", err)
	}
	if rows, err := st.Claim(ctx, "me", began, 9); err != nil || len(rows) != 1 || rows[0].Epoch != 2 {
		t.Errorf("a claim afterwards: %+v, %v", rows, err)
	}
	if n, err := st.ClaimPushes(ctx, "me", began, 9); n != 1 || err != nil {
		t.Errorf("push configs claimed afterwards: %d, %v", n, err)
	}
	if n, err := st.Delete(ctx, []store.Row{r.Row}); n != 1 || err != nil {
		t.Errorf("a deletion afterwards: %d, %v", n, err)
	}
	for _, st := range []*Store{st, mustOpen(t, crashed(t, st), nil)} {
		storetest.Check(t, st, a.Row.Key, fresh.Row.Key, idle.Row.Key)
		if g, err := st.Get(ctx, a.Row.Key, store.Whole); err != nil || g.Last != 2 || g.Node != "me" {
			t.Errorf("the task in the end: %+v, %v", g, err)
		}
		if rs, err := st.Receipts(ctx, a.Row.Key); err != nil || len(rs) != 2 {
			t.Errorf("its receipts in the end: %+v, %v", rs, err)
		}
	}
}

// writeOnly is a disk on which no file can be opened for reading only.
type writeOnly struct{ vfs.VFSFilename }

func (d writeOnly) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_READONLY != 0 {
		return nil, flags, sqlite3.CANTOPEN
	}
	return d.VFSFilename.OpenFilename(name, flags)
}

// An error names SQLite once, whatever prevents opening a reading connection.
func TestErrorsNameThePackageOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	mustOpen(t, path, nil).Close()
	onDisk(t, "write-only", writeOnly{vfs.Find("os").(vfs.VFSFilename)})
	_, open := Open(path, nil)
	_, look := Look(path)
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, read := r.Get(t.Context(), store.Key{ID: "a"}, store.RowOnly)
	backUp := r.Backup(t.Context(), path+".backup", nil)
	for what, err := range map[string]error{"open": open, "look": look, "read": read, "back up": backUp} {
		if !errors.Is(err, sqlite3.CANTOPEN) || strings.Count(err.Error(), "sqlite: ") != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
}
