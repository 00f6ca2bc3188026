package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

func mustOpenVault(t testing.TB, path string) *Vault {
	t.Helper()
	v, err := OpenVault(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// keeper has the methods that a Store and a Vault share.
type keeper interface {
	Keep(ctx context.Context, name string, was, is []byte) ([]byte, error)
	Kept(ctx context.Context) (map[string][]byte, error)
	Secret(ctx context.Context, name string) ([]byte, error)
}

func TestVaultAndStoreSeeEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	v := mustOpenVault(t, path)
	both := []keeper{st, v}
	var was []byte
	for i := range 20 {
		writer, reader := both[i%2], both[(i+1)%2]
		is := fmt.Append(nil, "value ", i)
		if now, err := writer.Keep(t.Context(), "name", was, is); err != nil || !bytes.Equal(now, is) {
			t.Fatalf("%d: kept %q, %v", i, now, err)
		}
		for what, k := range map[string]keeper{"the writer": writer, "the other": reader} {
			if now, err := k.Keep(t.Context(), "name", nil, nil); err != nil || !bytes.Equal(now, is) {
				t.Errorf("%d: %s reads %q, %v", i, what, now, err)
			}
			if all, err := k.Kept(t.Context()); err != nil || len(all) != 1 || !bytes.Equal(all["name"], is) {
				t.Errorf("%d: %s lists %q, %v", i, what, all, err)
			}
		}
		if now, err := reader.Keep(t.Context(), "name", was, []byte("late")); err != nil || !bytes.Equal(now, is) {
			t.Errorf("%d: who did not look replaced it: %q, %v", i, now, err)
		}
		was = is
	}
	for i, k := range both {
		mine, err := k.Secret(t.Context(), fmt.Sprint("secret ", i))
		theirs, err2 := both[1-i].Secret(t.Context(), fmt.Sprint("secret ", i))
		if err != nil || err2 != nil || len(mine) != store.SecretSize || !bytes.Equal(mine, theirs) {
			t.Errorf("one secret, twice: %x, %v and %x, %v", mine, err, theirs, err2)
		}
	}
	if now, err := v.Keep(t.Context(), "name", was, nil); now != nil || err != nil {
		t.Errorf("removed: %q, %v", now, err)
	}
	if now, err := st.Keep(t.Context(), "name", nil, nil); now != nil || err != nil {
		t.Errorf("after removal: %q, %v", now, err)
	}
}

// A server that is always busy loses nothing and gets no errors while another process changes
// the kept values, which works too.
func TestVaultBesideAStoreUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	v := mustOpenVault(t, path)
	ctx, stop := context.WithCancel(t.Context())
	var load, admins sync.WaitGroup
	var appends atomic.Int64
	var busy sync.Once
	warm := make(chan struct{})
	for w := range 4 {
		load.Go(func() {
			defer busy.Do(func() { close(warm) }) // also when nothing works
			for i := 0; ctx.Err() == nil; i++ {
				if err := store.Do(t.Context(), st, task(fmt.Sprint("task ", w, " ", i), 100)); err != nil {
					t.Errorf("append under load: %v", err)
					return
				}
				if appends.Add(1) >= 20 {
					busy.Do(func() { close(warm) })
				}
			}
		})
	}
	<-warm
	const each = 20
	longest := make([]time.Duration, 3)
	for i, k := range []keeper{st, v, mustOpenVault(t, path)} {
		admins.Go(func() {
			for range each {
				began := time.Now()
				if err := countUp(t.Context(), k, i); err != nil {
					t.Errorf("keep beside the load: %v", err)
					return
				}
				longest[i] = max(longest[i], time.Since(began))
			}
		})
	}
	admins.Wait()
	stop()
	load.Wait()
	t.Logf("%d appends; the longest changes took %v", appends.Load(), longest)
	var n int
	sum, err := st.Keep(t.Context(), "sum", nil, nil)
	if fmt.Sscan(string(sum), &n); err != nil || n != 3*each {
		t.Errorf("3 counted to %d each, together to %q, %v", each, sum, err)
	}
	k := task("", 0).Row.Key
	page, err := st.List(t.Context(), store.Query{Tenant: k.Tenant, Owner: k.Owner, Limit: 1})
	if err != nil || int64(page.Total) != appends.Load() {
		t.Errorf("%d tasks of %d, %v", page.Total, appends.Load(), err)
	}
}

// countUp adds one to the value kept as "sum", while others do the same.
func countUp(ctx context.Context, k keeper, who int) error {
	was, err := k.Keep(ctx, "sum", nil, nil)
	for err == nil {
		var n int
		fmt.Sscan(string(was), &n)
		// What is there tells who won only if no two put the same.
		next := fmt.Appendf(nil, "%d %d", n+1, who)
		var now []byte
		if now, err = k.Keep(ctx, "sum", was, next); bytes.Equal(now, next) {
			break
		}
		was = now
	}
	return err
}

// Reading what is kept costs no commit, and does not wait for the writer.
func TestKeepReadsBesideTheWriter(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	if _, err := st.Keep(t.Context(), "name", nil, []byte("value")); err != nil {
		t.Fatal(err)
	}
	st.writing.Lock() // as a commit that takes its time
	defer st.writing.Unlock()
	if now, err := st.Keep(t.Context(), "name", nil, nil); err != nil || string(now) != "value" {
		t.Errorf("%q, %v", now, err)
	}
}

func TestVaultWithoutAServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	mustOpen(t, path, nil).Close()
	v := mustOpenVault(t, path)
	if _, err := v.Keep(t.Context(), "name", nil, []byte("value")); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := v.Kept(t.Context()); err != store.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
	names, err := filepath.Glob(filepath.Dir(path) + "/*")
	if err != nil || len(names) != 1 {
		t.Errorf("Close leaves %v, %v", names, err)
	}
	st := mustOpen(t, path, nil)
	if now, err := st.Keep(t.Context(), "name", nil, nil); err != nil || string(now) != "value" {
		t.Errorf("a server reads %q, %v", now, err)
	}
}

func TestVaultRefusesWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, err := os.ReadFile("testdata/v3.db")
	if err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(dir, "later.db")
	next := schema{steps: append(current.steps[:len(current.steps):len(current.steps)], "CREATE TABLE more (x)"), tables: append(current.tables, "more")}
	st, err := open(later, nil, &next)
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	for path, want := range map[string]string{
		filepath.Join(dir, "none.db"):                     "no database",
		filepath.Join(dir, "nowhere", "none.db"):          "no database",
		write("empty.db", nil):                            "empty",
		write("old.db", old):                              "older version",
		write("foreign.db", []byte("a text of somebody")): "not a database of this program",
		later: "newer version",
	} {
		before, _ := os.ReadFile(path)
		v, err := OpenVault(path)
		if err == nil {
			v.Close()
			t.Errorf("%s opened", path)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
		if want == "no database" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s cannot be told from others: %v", path, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
	}
	names, _ := filepath.Glob(dir + "/*")
	if len(names) != 4 {
		t.Errorf("there are %v", names)
	}
}

func TestVaultWaitsForItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	was := vaultPatience
	vaultPatience = 20 * time.Millisecond
	v := mustOpenVault(t, path)
	vaultPatience = was
	patient := mustOpenVault(t, path)
	hold := func(f func()) {
		st.writing.Lock()
		defer st.writing.Unlock()
		if err := st.writer.Exec("BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		f()
		if err := st.writer.Exec("ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
	hold(func() {
		if _, err := v.Keep(t.Context(), "name", nil, []byte("value")); !errors.Is(err, store.ErrBusy) {
			t.Errorf("while somebody else writes: %v", err)
		}
		if now, err := v.Keep(t.Context(), "name", nil, nil); now != nil || err != nil {
			t.Errorf("a read meanwhile: %q, %v", now, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := patient.Keep(ctx, "name", nil, []byte("value")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whose time is over: %v", err)
		}
	})
	for _, v := range []*Vault{v, patient} {
		if now, err := v.Keep(t.Context(), "name", nil, []byte("value")); err != nil || string(now) != "value" {
			t.Errorf("afterwards: %q, %v", now, err)
		}
	}
}

// A context that ends within a change does not leave the database locked.
func TestVaultIsLeftUnderWay(t *testing.T) {
	impatient(t)
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	v := mustOpenVault(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	err := v.use(ctx, "keep", func(c *conn) error {
		return c.transaction(func() error {
			cancel()
			return c.stmt("INSERT INTO kept (name, value) VALUES ('a', 'b')").exec()
		})
	})
	if err != context.Canceled {
		t.Errorf("a change that was left: %v", err)
	}
	mustAppend(t, st, task("a", 1))
}
