package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// grow are the tables that grow with use.
var grow = []string{"task", "entry", "receipt", "push", "letter", "blob", "blob_task", "mail", "tally"}

// bigSort is how many rows the planner may expect to sort: some rows of each of the 101
// states that it expects an owner to have.
const bigSort = 16_384

// seldom are parts of statements of deletions and exports, which may be slow until there are
// statistics.
var seldom = []string{"DELETE FROM", emptyScopes, "= ANY($1::bigint[])"}

// No table that grows is read as a whole, nor sorted, however a statement is planned: for its
// arguments or for any arguments, with statistics or without, as in a database that was
// filled a moment ago. The statements are all those that the tests before this one and random
// operations ran.
func TestNothingIsScanned(t *testing.T) {
	pgtest.Require(t)
	exercise(t)
	c := crowded(t)
	var all []string
	for _, sql := range seen.all() {
		switch word, _, _ := strings.Cut(sql, " "); word {
		case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE":
			all = append(all, sql)
		}
	}
	slices.Sort(all)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			mustRun(t, c, "ANALYZE")
		}
		for _, sql := range all {
			if !analyzed && slices.ContainsFunc(seldom, func(part string) bool { return strings.Contains(sql, part) }) {
				continue
			}
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				mustRun(t, c, "SET plan_cache_mode = "+mode)
				p, text := explain(t, c, sql)
				for _, fault := range p.faults() {
					t.Errorf("%s, analyzed: %v: %s\n%s\n%s", mode, analyzed, fault, sql, text)
				}
			}
		}
	}
	if len(all) < 50 {
		t.Errorf("only %d statements were looked at", len(all))
	}
}

// Prepared statements are planned once per connection, whatever their estimated costs, and
// not for parallel workers.
func TestPreparedIsPlannedOnce(t *testing.T) {
	t.Parallel()
	address := copied(t)
	for _, test := range []struct{ parameters, want string }{
		{"&default_query_exec_mode=cache_statement", "force_generic_plan 0"},
		{"&default_query_exec_mode=cache_statement&plan_cache_mode=auto", "auto 0"},
		{"", "auto 2"},
	} {
		s := mustOpen(t, address+test.parameters, &Options{Conns: 1, NoListen: true})
		for range 3 {
			if _, err := s.List(t.Context(), store.Query{Tenant: "tenant", Owner: "owner", State: 4, Since: time.UnixMilli(1), Limit: 50}); err != nil {
				t.Fatal(err)
			}
		}
		var is string
		var planned int
		if err := s.pool.QueryRow(t.Context(), "SELECT current_setting('plan_cache_mode') || ' ' || current_setting('max_parallel_workers_per_gather'), "+
			"(SELECT coalesce(sum(custom_plans), 0) FROM pg_prepared_statements WHERE generic_plans + custom_plans > 2)").Scan(&is, &planned); err != nil {
			t.Fatal(err)
		}
		if is != test.want || strings.HasPrefix(is, "force") && planned != 0 {
			t.Errorf("%q: %s, and %d plans for certain arguments", test.parameters, is, planned)
		}
	}
}

// exercise runs statements of all kinds.
func exercise(t *testing.T) {
	storetest.Random(t, fresh(t), 1, 200)
	s := fresh(t)(t).(*Store)
	defer s.Close()
	at := time.UnixMilli(1_700_000_000_000)
	for i := range bigScope + 2 {
		a := &store.Append{Row: store.Row{Key: store.Key{Tenant: "x", Owner: "x", ID: fmt.Sprint(i)}, Context: "x", State: 3, Updated: at, Created: at, Epoch: 1}}
		a.Entries = []store.Entry{{Seq: 1, Time: at}}
		if i == bigScope+1 {
			wait := make(chan error, 1)
			s.Append(a, func(err error) { wait <- err })
			if err := <-wait; err != nil {
				t.Fatal(err)
			}
		} else {
			s.Append(a, func(error) {})
		}
	}
	for _, scopes := range []bool{false, true} {
		if scopes {
			for _, context := range []string{"", "x"} {
				if err := s.promoteOne(t.Context(), scopeName{"x", "x", context}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.readScopes(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 32 {
			is := func(bit int) bool { return i&bit != 0 }
			q := store.Query{Tenant: "x", Owner: "x", AnyOwner: is(1), Limit: 50}
			if is(2) {
				q.Context = "x"
			}
			if is(4) {
				q.State = 3
			}
			if is(8) {
				q.Since = at
			}
			if is(16) {
				q.Before = &store.Position{Updated: at, ID: "5"}
			}
			if _, err := s.List(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	row, err := s.Get(t.Context(), store.Key{Tenant: "x", Owner: "x", ID: "1"}, store.Whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ahead(t.Context(), []store.Key{row.Key}); err != nil {
		t.Fatal(err)
	}
	for _, after := range []*store.Row{nil, &row.Row} {
		if _, err := s.Idle(t.Context(), store.IdleQuery{State: 3, Before: at, After: after, Limit: 50}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Delete(t.Context(), []store.Row{row.Row}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// crowded returns a connection to a database with many rows in each table, most of them of
// one tenant, one owner, one context and one node, all called x.
func crowded(t *testing.T) *pgx.Conn {
	address := cluster.Database(t)
	s, err := Open(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	const x, id = "CASE WHEN i % 5 > 0 THEN 'x'::bytea ELSE ('y' || i / 20)::bytea END", "('i' || i)::bytea"
	for _, rows := range []string{
		"task SELECT i, 'x', " + x + ", " + id + ", " + x + ", i % 7, " + beganAt + " + i * 1000, " + beganAt + ", 3, i % 50 = 0, CASE WHEN i % 100 = 0 THEN '' ELSE 'x'::bytea END, 1, 0, 1, 1, 'h', 'b'",
		"entry SELECT i / 3, i, i, '' ",
		"receipt SELECT 'x', " + x + ", " + id + ", " + beganAt + " + i, " + beganAt + " + i * 1000, '', CASE WHEN i % 3 = 0 THEN 0 ELSE i END, CASE WHEN i % 3 = 0 THEN " + x + " ELSE '' END, 1, ''",
		"push SELECT i, i / 2, " + id + ", 'x', 'b', 0, CASE WHEN i % 5 = 0 THEN 'y' ELSE 'x'::bytea END, i % 10 = 0, 3, 0, NULL, NULL, ''",
		"letter SELECT i / 2, i, 0, 1, '', i % 10 = 0",
		"blob SELECT " + id + ", 'data'",
		"blob_task SELECT i, " + id,
		"mail (node, at, body) SELECT CASE WHEN i % 5 = 0 THEN 'y' ELSE 'x'::bytea END, " + beganAt + " + i, 'b'",
		"tally SELECT i % 20, i % 7, (ARRAY[0, 14, 20, 26])[i % 4 + 1], i, i % 3, 1",
		"scope (tenant, owner, context) SELECT 'x', 'x', CASE WHEN i = 1 THEN '' ELSE " + id + " END",
		"node SELECT " + id + ", " + beganAt + ", false",
	} {
		n := 30_000
		if table, _, _ := strings.Cut(rows, " "); table == "entry" || table == "letter" || table == "blob_task" || table == "receipt" {
			n = 100_000 // whose rows are small
		}
		if strings.HasPrefix(rows, "scope") || strings.HasPrefix(rows, "node") {
			n = 20
		}
		mustRun(t, c, fmt.Sprintf("INSERT INTO parley.%s FROM generate_series(1, %d) AS i", rows, n))
	}
	return c
}

// beganAt is the first time in the data of crowded.
const beganAt = "1700000000000"

func mustRun(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

var limitParam = regexp.MustCompile(`(?:LIMIT|OFFSET) \$(\d+)`)

// explain returns the plan of a statement, for the arguments of a page of a list of the most
// frequent values.
func explain(t *testing.T, c *pgx.Conn, sql string) (*node, string) {
	t.Helper()
	mustRun(t, c, "DEALLOCATE ALL")
	mustRun(t, c, "PREPARE s AS "+sql)
	var types []string
	if err := c.QueryRow(t.Context(), "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 's'", pgx.QueryExecModeSimpleProtocol).Scan(&types); err != nil {
		t.Fatal(err)
	}
	limits := map[int]bool{}
	for _, found := range limitParam.FindAllStringSubmatch(sql, -1) {
		n, _ := strconv.Atoi(found[1])
		limits[n] = true
	}
	var args []string
	for i, kind := range types {
		value, ok := map[string]string{"bigint": beganAt + " + 9000000", "integer": "3", "smallint": "16", "bytea": "'x'::bytea", "boolean": "true", "text": "'x'"}[strings.TrimSuffix(kind, "[]")]
		switch {
		case !ok:
			t.Fatalf("a parameter of %s: %s", kind, sql)
		case limits[i+1]:
			value = "51"
		case strings.HasPrefix(kind, "bytea["):
			value = "ARRAY[" + strings.Repeat("'x'::bytea, ", 63) + "'i1'::bytea]"
		case strings.HasSuffix(kind, "[]"):
			var all []string
			for i := range 64 {
				all = append(all, map[bool]string{true: "true", false: strconv.Itoa(i + 1)}[kind == "boolean[]"])
			}
			value = "ARRAY[" + strings.Join(all, ", ") + "]::" + kind
		}
		args = append(args, value)
	}
	run := "EXECUTE s"
	if len(args) > 0 {
		run += "(" + strings.Join(args, ", ") + ")"
	}
	var text string
	if err := c.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+run, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		t.Fatalf("explain %s: %v", sql, err)
	}
	var plans []struct{ Plan *node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	plans[0].Plan.write(&b, 0)
	return plans[0].Plan, b.String()
}

// node is a step of a plan.
type node struct {
	Type      string  `json:"Node Type"`
	Table     string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Plan Rows"`
	Condition string  `json:"Index Cond"`
	Filter    string
	Plans     []*node
}

// faults returns what is wrong with a plan.
func (n *node) faults() (all []string) {
	if n.Type == "Seq Scan" && slices.Contains(grow, n.Table) {
		all = append(all, "all of "+n.Table+" is read")
	}
	if n.Type == "Sort" && n.Plans[0].Rows > bigSort {
		all = append(all, fmt.Sprintf("%.0f rows are sorted", n.Plans[0].Rows))
	}
	for _, p := range n.Plans {
		all = append(all, p.faults()...)
	}
	return all
}

func (n *node) write(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%s%s %s %s rows=%.0f %s %s\n", strings.Repeat("  ", depth), n.Type, n.Table, n.Index, n.Rows, n.Condition, n.Filter)
	for _, p := range n.Plans {
		p.write(b, depth+1)
	}
}
