package sqlite

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var update = flag.Bool("update", false, "write the fixture of this version's schema anew; only before it is released")

// fixture is what a database in testdata holds: a sealed task with a blob, one
// with a log in several rows, a node and a secret.
func fixture() []*store.Append {
	sealed := task("sealed", 300)
	sealed.Row.Context, sealed.Row.Turn, sealed.Row.Attempt = "context", 1, 1
	sealed.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
	sealed.Blobs = []store.Blob{{Hash: "hash", Data: []byte("data")}}
	open := task("open", 100)
	open.Row.Active, open.Row.Node = true, "node"
	all := []*store.Append{sealed, open}
	for range 4 {
		open = goOn(open)
		all = append(all, open)
	}
	return all
}

// Databases of all versions are migrated and hold what they held.
func TestOldDatabases(t *testing.T) {
	if *update {
		writeFixture(t)
	}
	for v := range current.steps {
		t.Run(fmt.Sprint("version ", v+1), func(t *testing.T) {
			b, err := os.ReadFile(fmt.Sprintf("testdata/v%d.db", v+1))
			if err != nil {
				t.Fatalf("each version has a fixture, see -update: %v", err)
			}
			path := filepath.Join(t.TempDir(), "parley.db")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				checkFixture(t, path)
			}
		})
	}
}

func writeFixture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fixture.db")
	st := mustOpen(t, path, nil)
	for _, a := range fixture() {
		mustAppend(t, st, a)
	}
	if err := st.Beat(t.Context(), "node", began); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Secret(t.Context(), "secret"); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(fmt.Sprintf("testdata/v%d.db", current.version()), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkFixture(t *testing.T, path string) {
	st := mustOpen(t, path, nil)
	defer st.Close()
	if v, err := st.writer.pragma("user_version"); err != nil || v != current.version() {
		t.Errorf("version %d after opening, %v", v, err)
	}
	memory := store.NewMemory()
	defer memory.Close()
	for _, a := range fixture() {
		mustAppend(t, memory, a)
	}
	for _, id := range []string{"sealed", "open"} {
		k := task(id, 0).Row.Key
		storetest.Check(t, st, k)
		want, _ := memory.Get(t.Context(), k, true)
		got, err := st.Get(t.Context(), k, true)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", id, err, d)
		}
		wantLog, _ := memory.Entries(t.Context(), k, 0, 0)
		gotLog, err := st.Entries(t.Context(), k, 0, 0)
		if d := cmp.Diff(wantLog, gotLog); d != "" || err != nil {
			t.Errorf("log of %s: %v (-want +got)\n%s", id, err, d)
		}
	}
	if data, err := st.Blob(t.Context(), "hash"); string(data) != "data" {
		t.Errorf("blob: %q, %v", data, err)
	}
	if rows, err := st.Claim(t.Context(), "other", began, 10); len(rows) != 0 || err != nil {
		t.Errorf("the node was forgotten, its tasks claimed: %v, %v", rows, err)
	}
}

// Steps run once each, in order, and one that fails leaves the version before.
func TestMigrate(t *testing.T) {
	path := made(t, "")
	next := current
	n := len(next.steps)
	next.steps = append(next.steps[:n:n], "ALTER TABLE node ADD COLUMN address TEXT NOT NULL DEFAULT 'none'")
	broken := next
	broken.steps = append(next.steps[:n+1:n+1], "CREATE TABLE extra (a); INSERT INTO nowhere VALUES (1)")

	if _, err := open(path, nil, &broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("migrate to version ", n+2)) {
		t.Errorf("a step that fails: %v", err)
	}
	for range 2 {
		st, err := open(path, nil, &next)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := st.writer.pragma("user_version"); v != int64(n+1) {
			t.Errorf("version %d, want %d", v, n+1)
		}
		storetest.Check(t, st, task("a", 0).Row.Key)
		if err := st.Beat(t.Context(), "node", began); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantRefused(t, path, fmt.Sprintf("schema %d, this one knows %d", n+1, n))
}
