package sqlite

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var update = flag.Bool("update", false, "write the fixture of this version's schema anew; only before it is released")

// fixture describes a database in testdata. It has a sealed task with a blob, one with a log
// in several rows, a node and a secret; since version 3 also two receipts, one with and one
// without a task; since version 4 push configs, a dead letter and kept values; since version
// 9 a task in chunks.
func fixture() []*store.Append {
	sealed := task("sealed", 300)
	sealed.Row.Context, sealed.Row.Turn, sealed.Row.Attempt = "context", 1, 1
	sealed.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
	sealed.Blobs = []store.Blob{{Hash: "hash", Data: []byte("data")}}
	open := task("open", 100)
	open.Row.Active, open.Row.Node = true, "node"
	open.Pushes = []store.PushConfig{
		{ID: "a", Host: "host", Body: []byte("body"), Created: began, Node: "node", Live: true, Progress: store.Progress{Cursor: 1}},
		{ID: "b", Created: began, Progress: store.Progress{Tries: 2, Since: began.Add(1e9), Due: began.Add(2e9), Reason: "reason"}},
	}
	open.Letters = []store.DeadLetter{{PushID: store.PushID{ID: "b"}, Seq: 1, Time: began, Tries: 3, Reason: "400", Again: true}}
	open.Receipts = []store.Receipt{{Name: "of a task", Time: began, Until: began.Add(1e9), Digest: []byte("digest"), Seq: 1}}
	alone := &store.Append{Row: store.Row{Key: open.Row.Key.Scope(), Context: "context"}}
	alone.Receipts = []store.Receipt{{Name: "alone", Time: began, Until: began.Add(2e9), Digest: []byte("digest"), Answer: []byte("answer")}}
	all := []*store.Append{sealed, open, alone}
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
				checkFixture(t, path, v+1)
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
	chunks(t, 4<<10)
	mustAppend(t, st, inChunks())
	if err := st.Beat(t.Context(), "node", began); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Secret(t.Context(), "secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Keep(t.Context(), "kept", nil, []byte("value")); err != nil {
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

// inChunks describes the values in chunks of a fixture.
func inChunks() *store.Append {
	a := task("in chunks", 9_000)
	a.Blobs = []store.Blob{{Hash: "in chunks", Data: make([]byte, 9_000)}}
	a.Seal = &store.Seal{Head: []byte("head"), Body: make([]byte, 9_000)}
	return a
}

func checkFixture(t *testing.T, path string, version int) {
	checkReceipts(t, path, version)
	checkOutbox(t, path, version)
	checkBody(t, path)
	checkNodes(t, path)
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
		want, _ := memory.Get(t.Context(), k, store.Whole)
		got, err := st.Get(t.Context(), k, store.Whole)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", id, err, d)
		}
		wantLog, _ := memory.Entries(t.Context(), k, 0, 0)
		gotLog, err := st.Entries(t.Context(), k, 0, 0)
		if d := cmp.Diff(wantLog, gotLog); d != "" || err != nil {
			t.Errorf("log of %s: %v (-want +got)\n%s", id, err, d)
		}
	}
	if version >= 9 {
		sameAs(t, st, inChunks())
	}
	if data, err := st.Blob(t.Context(), "hash"); string(data) != "data" {
		t.Errorf("blob: %q, %v", data, err)
	}
	p := store.PushConfig{Key: task("sealed", 0).Row.Key, ID: "late", Live: true, Node: "gone", Created: began}
	if err := st.SetPush(t.Context(), &p); err != nil {
		t.Errorf("a push config for a task of before: %v", err)
	}
	if n, err := st.ClaimPushes(t.Context(), "other", began, 10); n != 1 || err != nil {
		t.Errorf("%d push configs were claimed, %v", n, err)
	}
	if err := st.DropPush(t.Context(), p.PushID()); err != nil {
		t.Error(err)
	}
	if rows, err := st.Claim(t.Context(), "other", began, 10); len(rows) != 0 || err != nil {
		t.Errorf("the node was forgotten, its tasks claimed: %v, %v", rows, err)
	}
}

// checkReceipts reads a database as it is, which may be before it is migrated.
func checkReceipts(t *testing.T, path string, version int) {
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := task("open", 0).Row.Key
	var want []store.Receipt
	for _, a := range fixture() {
		for _, r := range a.Receipts {
			if r.TaskID, r.Context = a.Row.ID, a.Row.Context; version >= 3 {
				want = append(want, r)
			}
		}
	}
	of, err := r.Receipts(t.Context(), k)
	if d := cmp.Diff(want[:min(1, len(want))], of, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("receipts: %v (-want +got)\n%s", err, d)
	}
	for i, name := range []string{"of a task", "alone"} {
		got, err := r.Receipt(t.Context(), k, name)
		if len(want) == 0 {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("receipt %q: %+v, %v", name, got, err)
			}
			continue
		}
		if d := cmp.Diff(&want[i], got, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("receipt %q: %v (-want +got)\n%s", name, err, d)
		}
	}
}

// checkBody reads a sealed task of a database as it is, which may be before
// bodies were in rows.
func checkBody(t *testing.T, path string) {
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sealed := fixture()[0]
	if rec, err := r.Get(t.Context(), sealed.Row.Key, store.Whole); err != nil || string(rec.Seal.Body) != "body" {
		t.Errorf("the body: %+v, %v", rec, err)
	}
	q := store.Query{Owner: sealed.Row.Owner, Context: "context", Limit: 9, Body: true}
	if p, err := r.List(t.Context(), q); err != nil || len(p.Records) != 1 || string(p.Records[0].Seal.Body) != "body" {
		t.Errorf("the body in a list: %+v, %v", p, err)
	}
}

// checkNodes reads a database as it is, which may be before nodes could leave.
func checkNodes(t *testing.T, path string) {
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.AllNodes(t.Context())
	if d := cmp.Diff([]store.NodeState{{Name: "node", Beat: began}}, all); d != "" || err != nil {
		t.Errorf("nodes: %v (-want +got)\n%s", err, d)
	}
}

// checkOutbox reads a database as it is, which may be before it is migrated.
func checkOutbox(t *testing.T, path string, version int) {
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	open := fixture()[1]
	var want []store.PushConfig
	var wantLetters []store.DeadLetter
	wantKept := map[string][]byte{}
	if version >= 4 {
		for _, p := range open.Pushes {
			p.Key = open.Row.Key
			want = append(want, p)
		}
		wantLetters = open.Letters
		wantLetters[0].Key = open.Row.Key
		wantKept["kept"] = []byte("value")
	}
	got, err := r.Pushes(t.Context(), open.Row.Key, "", 9)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("push configs: %v (-want +got)\n%s", err, d)
	}
	if all, err := r.AllPushes(t.Context(), 0, 9); len(all) != len(want) || err != nil {
		t.Errorf("all push configs: %+v, %v", all, err)
	}
	for _, id := range []string{"a", "b"} {
		_, err := r.Push(t.Context(), store.PushID{Key: open.Row.Key, ID: id})
		if found := err == nil; found != (version >= 4) || !found && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("push config %s: %v", id, err)
		}
	}
	letters, err := r.DeadLetters(t.Context(), store.LetterQuery{Limit: 9})
	if d := cmp.Diff(wantLetters, letters, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.DeadLetter{}, "At")); d != "" || err != nil {
		t.Errorf("dead letters: %v (-want +got)\n%s", err, d)
	}
	kept, err := r.Kept(t.Context())
	if d := cmp.Diff(wantKept, kept); d != "" || err != nil {
		t.Errorf("what is kept: %v (-want +got)\n%s", err, d)
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

	told := ""
	o := &Options{Migrating: func(done, of int) { told += fmt.Sprintf("%d/%d ", done, of) }}
	if _, err := open(path, o, &broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("migrate to version ", n+2)) {
		t.Errorf("a step that fails: %v", err)
	}
	for range 2 {
		st, err := open(path, o, &next)
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
	if told != "0/2 1/2 " { // of the first attempt; then there is nothing to do
		t.Errorf("told %q", told)
	}
	wantRefused(t, path, fmt.Sprintf("schema %d, this one knows %d", n+1, n))
}
