package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// plan says how SQLite runs a statement, a line for each step.
func plan(t *testing.T, c *conn, sql string) string {
	t.Helper()
	var steps []string
	raw, _, err := c.Prepare("EXPLAIN QUERY PLAN " + sql)
	if err != nil {
		t.Fatalf("explain %s: %v", sql, err)
	}
	defer raw.Close()
	for raw.Step() {
		steps = append(steps, raw.ColumnText(3))
	}
	if err := raw.Err(); err != nil {
		t.Fatalf("explain %s: %v", sql, err)
	}
	return strings.Join(steps, "\n")
}

// used does everything that a store can do, so that its connections have all
// their statements.
func used(t *testing.T, st *Store) {
	ctx := t.Context()
	k := task("a", 10).Row.Key
	a := task("a", 10)
	a.Row.Active, a.Row.Node = true, "dead"
	a.Receipts = []store.Receipt{{Name: "n", Time: began, Until: began, Seq: 1}}
	a.Blobs = []store.Blob{{Hash: "h", Data: []byte("d")}}
	p := store.PushConfig{Key: k, ID: "p", Created: began, Node: "dead", Live: true}
	letter := store.DeadLetter{PushID: p.PushID(), Seq: 1, Time: began}
	a.Pushes, a.Letters = []store.PushConfig{p}, []store.DeadLetter{letter}
	b := goOn(a)
	sealed := goOn(b)
	sealed.Row.State, sealed.Row.Active, sealed.Seal = 3, false, &store.Seal{}
	opened := goOn(sealed)
	opened.Row.Active = true
	mustAppend(t, st, a)
	mustAppend(t, st, b)
	mustAppend(t, st, sealed)
	mustAppend(t, st, opened)
	mustAppend(t, st, &store.Append{Row: store.Row{Key: k.Scope()}, Receipts: a.Receipts})
	long := task("long", 1)
	mustAppend(t, st, long)
	for range deleteRows + 1 {
		long = goOn(long)
		mustAppend(t, st, long)
	}
	for i := range bigScope + bigSpan + 2 { // an owner and a context with tallies, and another without
		in := task(fmt.Sprint("in c ", i), 1)
		in.Row.Context, in.Row.State, in.Row.Updated = "c", 3, began.Add(time.Duration(i)*time.Second)
		mustAppend(t, st, in)
		in.Row.Owner = "other"
		if i == 0 {
			mustAppend(t, st, in)
		}
	}
	var errs []error
	fine := func(err error) {
		if !errors.Is(err, store.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	_, err := st.Take(ctx, "other", began, k)
	fine(err)
	fine(st.Beat(ctx, "me", began))
	_, err = st.Claim(ctx, "me", began, 10)
	fine(err)
	fine(st.Leave(ctx, "me"))
	for _, tenant := range []string{"t", "u"} {
		w := task("waits", 1)
		w.Row.Key.Tenant, w.Row.Active, w.Row.Node = tenant, true, ""
		mustAppend(t, st, w)
	}
	drawn, err := st.Draw(ctx, "me", "t", 10)
	fine(err)
	if len(drawn) != 2 {
		errs = append(errs, fmt.Errorf("%d tasks were drawn", len(drawn)))
	}
	_, err = st.Rows(ctx, []store.Key{k})
	fine(err)
	_, err = st.Secret(ctx, "s")
	fine(err)
	_, err = st.Receipt(ctx, k, "n")
	fine(err)
	_, err = st.Receipts(ctx, k)
	fine(err)
	for _, q := range []store.ForgetQuery{{Limit: 1}, {Limit: 1, Context: "c"}} {
		_, err = st.Forget(ctx, q)
		fine(err)
	}
	for _, c := range []string{"", "c"} {
		for _, state := range []int32{0, 3} {
			for _, since := range []time.Time{{}, began} {
				for _, before := range []*store.Position{nil, {Updated: began, ID: "a"}} {
					for i, owner := range []string{"owner", "other", "any"} {
						_, err = st.List(ctx, store.Query{Owner: owner, AnyOwner: i == 2, Context: c, State: state, Since: since, Before: before, Limit: 1})
						fine(err)
					}
				}
			}
		}
	}
	_, err = st.Owners(ctx, k.Tenant, k.ID, 1)
	fine(err)
	_, err = st.Push(ctx, p.PushID())
	fine(err)
	_, err = st.Pushes(ctx, k, "", 1)
	fine(err)
	_, err = st.LivePushes(ctx, "dead", 0, 1)
	fine(err)
	_, err = st.AllPushes(ctx, 0, 1)
	fine(err)
	for _, again := range []bool{false, true} {
		for _, of := range []*store.PushID{nil, &letter.PushID} {
			_, err = st.DeadLetters(ctx, store.LetterQuery{Of: of, Again: again, Limit: 1})
			fine(err)
		}
	}
	n, err := st.ClaimPushes(ctx, "me", began, 9)
	fine(err)
	if n != 1 {
		errs = append(errs, fmt.Errorf("%d push configs were claimed", n))
	}
	dead := []store.DeadLetter{letter}
	for _, live := range []bool{true, false} {
		fine(st.Advance(ctx, []store.Advance{{PushID: p.PushID(), Created: began, Live: live, Dead: dead}}))
	}
	fine(st.SetLetters(ctx, dead, false))
	fine(st.SetLetters(ctx, dead, true))
	fine(st.SetPush(ctx, &p))
	fine(st.DropPush(ctx, p.PushID()))
	for _, is := range [][]byte{{1}, nil} {
		_, err = st.Keep(ctx, "kept", nil, is)
		fine(err)
	}
	_, err = st.Keep(ctx, "kept", []byte{1}, nil)
	fine(err)
	_, err = st.Kept(ctx)
	fine(err)
	r, err := st.Get(ctx, k, store.Whole)
	fine(err)
	l, err := st.Get(ctx, long.Row.Key, store.RowOnly)
	fine(err)
	for _, after := range []*store.Row{nil, &r.Row} {
		_, err = st.Idle(ctx, store.IdleQuery{State: 3, Before: began, After: after, Limit: 1})
		fine(err)
	}
	for _, after := range []*store.Key{nil, &k} {
		_, err = st.Tasks(ctx, after, 1)
		fine(err)
	}
	_, err = st.Entries(ctx, k, 0, 0)
	fine(err)
	_, err = st.Blobs(ctx, k)
	fine(err)
	_, err = st.Blob(ctx, "h")
	fine(err)
	quick := quickTask(1, true)
	mustAppend(t, st, quick)
	fine(age(st))
	packed, err := st.pack(&packing{0, st.lastKey})
	fine(err)
	if packed != 1 {
		errs = append(errs, fmt.Errorf("%d tasks were packed", packed))
	}
	n, err = st.Delete(ctx, []store.Row{r.Row, l.Row})
	fine(err)
	if n != 2 {
		errs = append(errs, fmt.Errorf("%d tasks were deleted", n))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// No statement reads a whole table that grows, neither in an append nor in a claim nor
// anywhere else.
func TestNothingIsScanned(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	used(t, st)
	allowed := []string{
		"SCAN task USING INDEX task_name", // by Tasks, from the first on
		"SCAN scope",                      // by the writer, once: one for each 1,000 tasks or more
	}
	grows := []string{"task", "entry", "seal", "blob", "blob_task", "receipt", "push", "letter", "scope", "tally", "span", "member", "t", "r", "p", "l"} // the last are names for tables
	statements := 0
	c, err := st.readers.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.readers.put(c)
	for _, c := range []*conn{st.writer, c} {
		for sql := range c.stmts {
			if !strings.Contains(sql, " FROM ") && !strings.HasPrefix(sql, "UPDATE") {
				continue
			}
			statements++
			for step := range strings.Lines(plan(t, c, sql)) {
				step = strings.TrimSpace(step)
				table, is := strings.CutPrefix(step, "SCAN ")
				table, _, _ = strings.Cut(table, " ")
				if is && slices.Contains(grows, table) && !slices.Contains(allowed, step) {
					t.Errorf("%s\n\t%s", step, sql)
				}
			}
		}
	}
	if statements < 40 {
		t.Errorf("only %d statements were looked at", statements)
	}
}

// Receipts are found by the index made for the query, and claims step from name to name.
func TestPlans(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	used(t, st)
	want := map[string][]string{ // a part of a statement, and of its plan
		"FROM receipt WHERE tenant = ? AND owner = ? AND name = ? AND until": {"receipt_name"},
		"LEFT JOIN task AS t ON t.key = r.task WHERE":                        {"receipt_name", "INTEGER PRIMARY KEY"},
		"JOIN receipt AS r ON r.task = t.key AND r.task > 0 WHERE":           {"task_name", "receipt_task (task=?)"},
		oldReceipts:                                {"receipt_until (until<?)"},
		contextReceipts:                            {"task_context (tenant=? AND owner=? AND context=?)", "receipt_task (task=?)", "receipt_context (tenant=? AND owner=? AND context=?)"},
		"DELETE FROM receipt WHERE task = ?":       {"receipt_task (task=?)"},
		lost:                                       {"task_active (node>?)"},
		"active = 1 AND node = ? LIMIT ?":          {"task_active (node=?)", "INTEGER PRIMARY KEY"},
		give + "WHERE key = (":                     {"task_name (tenant=? AND owner=? AND id=?)", "INTEGER PRIMARY KEY"},
		lostPushes:                                 {"push_live (node>?)"},
		"p.live = 1 AND p.node = ? AND EXISTS":     {"push_live (node=?)", "INTEGER PRIMARY KEY"},
		"p.node = ?3 AND p.key > ?1":               {"push_live (node=? AND rowid>?)", "INTEGER PRIMARY KEY"},
		"p.id > ? ORDER BY":                        {"task_name", "push_name (task=? AND id>?)"},
		"FROM letter AS l CROSS":                   {"PRIMARY KEY", "INTEGER PRIMARY KEY"},
		"FROM letter AS l INDEXED BY letter_again": {"letter_again"},
		"UPDATE push SET cursor":                   {"push_name (task=? AND id=?)"},
		"SELECT 1 FROM task WHERE tenant = ?1":     {"(tenant=? AND owner>?)", "task_name (tenant=? AND owner=? AND id=?)"},
		tenants:                                    {"task_waiting (tenant>?)"},
		"SELECT key " + waiting:                    {"task_waiting (tenant=?)"},
		give + "WHERE key = ?":                     {"INTEGER PRIMARY KEY"},
		"owner = o.name ORDER BY updated":          {"(tenant=? AND owner>?)", "task_updated (tenant=? AND owner=?)"},
		"owner = o.name AND state = ? ORDER":       {"task_state (tenant=? AND owner=? AND state=?)"},
		"(updated, id) <= (?, ?) ORDER BY":         {"AND owner=? AND"},
		"FROM push AS p JOIN letter AS l":          {"push_name (task=?)", "PRIMARY KEY (push=?)"},
	}
	c, err := st.readers.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.readers.put(c)
	for _, c := range []*conn{st.writer, c} {
		for sql := range c.stmts {
			if strings.Contains(sql, "push") || strings.Contains(sql, "letter") || strings.Contains(sql, "waiting") { // pages are read in order
				if steps := plan(t, c, sql); strings.Contains(steps, "TEMP B-TREE") {
					t.Errorf("%s\n\tis sorted:\n%s", sql, steps)
				}
			}
		}
	}
	for part, indexes := range want {
		found := false
		for _, c := range []*conn{st.writer, c} {
			for sql := range c.stmts {
				if !strings.Contains(sql, part) {
					continue
				}
				found = true
				steps := plan(t, c, sql)
				for _, index := range indexes {
					if !strings.Contains(steps, index) {
						t.Errorf("%s\n\tnot by %s:\n%s", sql, index, steps)
					}
				}
			}
		}
		if !found {
			t.Errorf("no statement has %q", part)
		}
	}
}
