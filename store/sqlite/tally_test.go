package sqlite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// smallScopes makes tallies start at a few tasks, with even smaller spans. Benchmarks use the
// normal limits.
func smallScopes() {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f == nil || f.Value.String() == "" {
		bigScope, bigSpan, lookEvery = 3, 4, 1
	}
}

// checkTally compares the tallies of a database with the counted tasks. It reads the database
// as it is, also after a crash.
func checkTally(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return // some tests never make one, or remove it
	}
	r, err := OpenReader(path)
	if err != nil {
		return // some tests damage it
	}
	defer r.Close()
	if _, there, err := r.anchor.stmt("SELECT 1 FROM sqlite_schema WHERE name = 'scope'").one(); !there && err == nil {
		return
	}
	const of = "WITH t AS (SELECT s.key AS scope, s.context <> '' AS small, task.* FROM scope AS s JOIN task ON task.tenant = s.tenant AND task.owner = s.owner AND s.context IN ('', task.context)) "
	for what, sql := range map[string][2]string{
		"tasks of a state": {
			of + "SELECT scope, state, count(*) FROM t GROUP BY scope, state ORDER BY scope, state",
			"SELECT scope, state, n FROM tally ORDER BY scope, state",
		},
		"tasks of a span": {
			of + "SELECT scope, state, (SELECT max(begin) FROM span AS s WHERE s.scope = t.scope AND s.state = t.state AND begin <= updated) AS begin, count(*) FROM t GROUP BY scope, state, begin ORDER BY scope, state, begin",
			"SELECT scope, state, begin, n FROM span ORDER BY scope, state, begin",
		},
		"members": {
			of + "SELECT scope, state, updated, id, key FROM t WHERE small ORDER BY scope, state, updated, id",
			"SELECT scope, kind, at, name, task FROM member ORDER BY scope, kind, at, name",
		},
		"scopes": {
			of + "SELECT DISTINCT scope FROM t ORDER BY scope",
			"SELECT key FROM scope AS s WHERE EXISTS (SELECT 1 FROM scope AS o WHERE o.tenant = s.tenant AND o.owner = s.owner AND o.context = '') ORDER BY key",
		},
	} {
		if d := cmp.Diff(rowsOf(t, r.anchor, sql[0]), rowsOf(t, r.anchor, sql[1])); d != "" {
			t.Errorf("%s (-counted +kept):\n%s", what, d)
		}
	}
}

// rows returns the result of a query by a store's writer, as text. It may run beside others.
func rows(t testing.TB, st *Store, sql string) []string {
	t.Helper()
	st.writing.Lock()
	defer st.writing.Unlock()
	return rowsOf(t, st.writer, sql)
}

func rowsOf(t testing.TB, c *conn, sql string) (all []string) {
	t.Helper()
	err := c.stmt(sql).each(func(r *sqlite3.Stmt) error {
		row := ""
		for i := range r.ColumnCount() {
			row += r.ColumnText(i) + "|"
		}
		all = append(all, row)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}

// history makes random appends and deletions, to tasks of one owner with some contexts and
// few times, in a database and in a store in memory.
type history struct {
	t      *testing.T
	rand   *rand.Rand
	st     *Store
	memory *store.Memory
}

func newHistory(t *testing.T, path string, seed uint64) *history {
	h := &history{t: t, rand: rand.New(rand.NewPCG(seed, 0)), st: mustOpen(t, path, nil), memory: store.NewMemory()}
	t.Cleanup(func() { h.memory.Close() })
	return h
}

func (h *history) when() time.Time {
	return began.Add(time.Duration(h.rand.IntN(40)*h.rand.IntN(10)) * time.Millisecond)
}

// step does one thing, or a batch of appends some of which are refused.
func (h *history) step() {
	r, ctx := h.rand, h.t.Context()
	if r.IntN(10) == 0 {
		var gone []store.Row
		for range 1 + r.IntN(40) {
			if rec, err := h.memory.Get(ctx, task(fmt.Sprint(r.IntN(200)), 0).Row.Key, store.RowOnly); err == nil {
				gone = append(gone, rec.Row)
			}
		}
		n, err := h.st.Delete(ctx, gone)
		m, _ := h.memory.Delete(ctx, gone)
		if n != m || err != nil {
			h.t.Fatalf("%d were deleted, not %d, %v", n, m, err)
		}
		return
	}
	var batch []*store.Append
	for range 1 + r.IntN(30) {
		a := task(fmt.Sprint(r.IntN(200)), r.IntN(10))
		rec, err := h.memory.Get(ctx, a.Row.Key, store.RowOnly)
		if err == nil && r.IntN(8) > 0 {
			a.Row = rec.Row
			a = goOn(&store.Append{Row: rec.Row, After: rec.Last - 1, Entries: []store.Entry{{Seq: rec.Last}}})
		} else {
			a.Row.Context = []string{"", "a", "a", "b", fmt.Sprint(r.IntN(50))}[r.IntN(5)]
		}
		a.Row.State, a.Row.Updated = int32(r.IntN(4)), h.when()
		batch = append(batch, a)
	}
	got, want := queued(h.st, batch), queued(h.memory, batch)
	for i := range batch {
		if !errors.Is(got[i], want[i]) {
			h.t.Fatalf("append %d of %d: %v, in memory: %v", i, len(batch), got[i], want[i])
		}
	}
}

// compare lists with each filter, from each kind of place.
func (h *history) compare(of interface {
	List(context.Context, store.Query) (*store.Page, error)
}) {
	h.t.Helper()
	for _, in := range []string{"", "a", "b", "7"} {
		for state := range int32(5) {
			for _, since := range []time.Time{{}, h.when(), h.when(), began.Add(time.Hour)} {
				for _, before := range []*store.Position{nil, {Updated: h.when(), ID: fmt.Sprint(h.rand.IntN(200))}} {
					q := store.Query{Owner: "owner", Context: in, State: state, Since: since, Before: before, Limit: 1 + h.rand.IntN(20)}
					got, err := of.List(h.t.Context(), q)
					want, _ := h.memory.List(h.t.Context(), q)
					if d := cmp.Diff(want, got); d != "" || err != nil {
						h.t.Fatalf("%+v: %v (-memory +sqlite)\n%s", q, err, d)
					}
				}
			}
		}
	}
}

// Lists have the same totals as if each were counted, whatever happened before.
func TestTallies(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "parley.db")
			h := newHistory(t, path, seed)
			for range 8 {
				for range 10 {
					h.step()
				}
				checkTally(t, path)
				h.compare(h.st)
			}
			var all []store.Row
			for rec := range 200 {
				if r, err := h.memory.Get(t.Context(), task(fmt.Sprint(rec), 0).Row.Key, store.RowOnly); err == nil {
					all = append(all, r.Row)
				}
			}
			if _, err := h.st.Delete(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"scope", "tally", "span", "member"} {
				if left := rows(t, h.st, "SELECT * FROM "+table); len(left) > 0 {
					t.Errorf("after the last task is deleted, %s has %q", table, left)
				}
			}
		})
	}
}

// A database from before tallies gets them when it is opened; a reader that
// opens it unchanged counts its tasks.
func TestTalliesOfAnOldDatabase(t *testing.T) {
	defer func(scope, span int64) { bigScope, bigSpan = scope, span }(bigScope, bigSpan)
	bigScope, bigSpan = 1024, 1024 // those of the migration
	path := filepath.Join(t.TempDir(), "parley.db")
	h := newHistory(t, path, 1)
	var batch []*store.Append
	for i := range 5000 {
		a := task(fmt.Sprint("task ", i), 0)
		a.Row.Context = []string{"a", "a", "b", fmt.Sprint(i % 50)}[i%4]
		a.Row.State, a.Row.Updated = int32(1+i%7/5), began.Add(time.Duration(h.rand.IntN(300)*h.rand.IntN(20)/19)*time.Millisecond)
		batch = append(batch, a)
	}
	for _, st := range []store.Store{h.st, h.memory} {
		for i, err := range queued(st, batch) {
			if err != nil {
				t.Fatal(i, err)
			}
		}
	}
	h.compare(h.st)
	// A list since a time counts a part of a span.
	if n := rows(t, h.st, "SELECT count(*) > 8 AND max(n) <= 1024 FROM span"); n[0] != "1|" {
		t.Errorf("spans are few or large: %q", rows(t, h.st, "SELECT * FROM span"))
	}
	want := rows(t, h.st, "SELECT s.context, t.state, t.n FROM tally AS t JOIN scope AS s ON s.key = t.scope ORDER BY 1, 2")
	before := slices.IndexFunc(current.steps, func(sql string) bool { return strings.Contains(sql, "CREATE TABLE tally") })
	if err := h.st.writer.Exec(fmt.Sprintf("DROP INDEX task_waiting; DROP TABLE scope; DROP TABLE tally; DROP TABLE span; DROP TABLE member; ALTER TABLE task DROP COLUMN body; ALTER TABLE task DROP COLUMN head_size; ALTER TABLE task DROP COLUMN body_size; DROP TRIGGER entry_chunks; DROP TRIGGER seal_chunks; DROP TRIGGER seal_chunks_replaced; DROP TRIGGER blob_chunks; DROP TABLE chunk; DROP TABLE staged; ALTER TABLE entry DROP COLUMN chunks; ALTER TABLE seal DROP COLUMN chunks; ALTER TABLE blob DROP COLUMN chunks; PRAGMA user_version = %d", before)); err != nil {
		t.Fatal(err)
	}
	if err := h.st.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	h.compare(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	h.st = mustOpen(t, path, nil)
	h.compare(h.st)
	checkTally(t, path)
	got := rows(t, h.st, "SELECT s.context, t.state, t.n FROM tally AS t JOIN scope AS s ON s.key = t.scope ORDER BY 1, 2")
	if d := cmp.Diff(want, got); d != "" || len(got) != 6 {
		t.Errorf("tallies (-kept +migrated):\n%s", d)
	}
	mustAppend(t, h.st, task("one more", 1))
	checkTally(t, path)
}

// A failed transaction that created or removed a scope leaves neither the scope nor its
// counts in memory.
func TestTalliesAfterAFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	exec := func(sql string) {
		t.Helper()
		if err := st.writer.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	in := func(id int) *store.Append {
		a := task(fmt.Sprint(id), 1)
		a.Row.Context = "c"
		return a
	}
	for i := range 4 { // of the owner
		mustAppend(t, st, in(i))
	}
	exec("CREATE TEMP TRIGGER failing AFTER INSERT ON span WHEN new.scope = 2 BEGIN SELECT RAISE(ABORT, 'failing'); END")
	for i, err := range queued(st, []*store.Append{in(4), in(5)}) {
		if err == nil {
			t.Errorf("append %d made a tally of the context, which fails", i)
		}
	}
	exec("DROP TRIGGER failing")
	checkTally(t, path)
	for i := range 4 {
		mustAppend(t, st, in(6+i))
		checkTally(t, path)
	}
	if got := rows(t, st, "SELECT context FROM scope ORDER BY key"); len(got) != 2 {
		t.Errorf("tallies of %q", got)
	}
	all, err := st.Tasks(t.Context(), nil, 20)
	if err != nil || len(all) != 8 {
		t.Fatalf("%d tasks, %v", len(all), err)
	}
	exec("CREATE TEMP TRIGGER failing BEFORE DELETE ON scope WHEN old.context = 'c' BEGIN SELECT RAISE(ABORT, 'failing'); END")
	if n, err := st.Delete(t.Context(), all); err == nil {
		t.Errorf("%d were deleted, with the tally that cannot be", n)
	}
	exec("DROP TRIGGER failing")
	checkTally(t, path)
	mustAppend(t, st, in(20))
	checkTally(t, path)
	if n, err := st.Delete(t.Context(), all); n != 8 || err != nil {
		t.Errorf("%d were deleted, %v", n, err)
	}
	checkTally(t, path)
}
