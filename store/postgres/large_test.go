package postgres

import (
	"context"
	"crypto/md5"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

var (
	large      = flag.Bool("large", false, "make databases of -tasks tasks and compare the last with the one before")
	largeSizes = flag.String("tasks", "10000,1000000", "the sizes of -large")
	largeAt    = flag.String("at", "", "address of a database of a PostgreSQL server that keeps the databases of -large, beside this one; empty: a new server that is removed")
)

// slowdown is how much longer a call may take at the last size than at the one before.
const slowdown = 2

// TestLarge compares large databases. At the last of the sizes -tasks (1,000,000), a list or
// a record may take at most twice the time that it takes at the size before (10,000), however
// statements are sent. Making so many tasks takes minutes, and 2.5 KB of disk each: go test
// -run TestLarge -large -v
func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("without -large")
	}
	var sizes []int
	for text := range strings.SplitSeq(*largeSizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 10_000 {
			t.Fatalf("-tasks has %q, which is no number of tasks, of 10,000 at least", text)
		}
		sizes = append(sizes, n)
	}
	addresses := stock(t, sizes)
	t.Run("reads", func(t *testing.T) {
		for _, mode := range []string{"cache_describe", "cache_statement"} {
			compare(t, addresses, sizes, mode)
		}
	})
	for _, n := range sizes {
		t.Run(fmt.Sprint("size of ", n), func(t *testing.T) { logSizes(t, mustOpen(t, addresses[n], nil)) })
		t.Run(fmt.Sprint("writes of ", n), func(t *testing.T) { largeWrites(t, addresses[n]) })
		t.Run(fmt.Sprint("takes of ", n), func(t *testing.T) { largeTakes(t, addresses[n]) })
		t.Run(fmt.Sprint("retention of ", n), func(t *testing.T) { largeRetention(t, addresses[n]) })
	}
}

// stock returns databases with so many tasks each, and makes those that the server lacks.
func stock(t *testing.T, sizes []int) map[int]string {
	server := *largeAt
	if server == "" {
		server = pgtest.New(t, &pgtest.Options{Durable: true, Settings: map[string]string{"max_wal_size": "'4GB'"}}).URL("postgres")
	}
	addresses := map[int]string{}
	for _, n := range sizes {
		name := fmt.Sprint("large_", n)
		addresses[n] = strings.Replace(server, "/"+nameOf(server), "/"+name, 1)
		if there := sql(t, server, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); there == "0" {
			sql(t, server, "CREATE DATABASE "+name)
		}
		fill(t, addresses[n], n)
	}
	return addresses
}

// warm is how many calls fill the caches before measuring starts.
const warm = 20

// compare measures ways in turns, so that other load on the machine affects all sizes
// equally.
func compare(t *testing.T, addresses map[int]string, sizes []int, mode string) {
	stores := map[int]*Store{}
	for _, n := range sizes {
		stores[n] = mustOpen(t, addresses[n]+"&default_query_exec_mode="+mode, nil)
	}
	for _, way := range ways {
		took := map[int][]time.Duration{}
		for i, until := 0, time.Now().Add(5*time.Second); i < 300 && (i < warm+10 || time.Now().Before(until)); i++ {
			for _, n := range sizes {
				at := time.Now()
				if err := way.call(t.Context(), stores[n], n, i); err != nil {
					t.Fatalf("%s: %v", way.name, err)
				}
				took[n] = append(took[n], time.Since(at))
			}
		}
		line := fmt.Sprintf("%-15s %-35s", mode, way.name)
		var last, before time.Duration
		for _, n := range sizes {
			all := took[n][warm:]
			slices.Sort(all)
			before, last = last, all[len(all)/2]
			line += fmt.Sprintf(" %9v", last)
		}
		if before == 0 {
			t.Log(line)
			continue
		}
		ratio := float64(last) / float64(before)
		t.Logf("%s  %.2f", line, ratio)
		if ratio > slowdown {
			t.Errorf("%s: %.2f times as long", way.name, ratio)
		}
	}
}

// fill makes tasks, one a second until now, each as long as one that answered a question,
// with its log and a receipt. A tenth are in one context, the others in contexts of four.
// Another 10,000 were active on a dead node. fill continues an earlier run, and stops before
// the time of -timeout.
func fill(t *testing.T, address string, n int) {
	t.Helper()
	s := mustOpen(t, address, nil)
	c, err := pgx.Connect(t.Context(), address) // which may take longer than a store's call
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	like := quick("owner")
	log := store.Pack(nil, like.Entries)
	begin := filled.UnixMilli() - int64(n)*1000
	count := func(sql string) (k int) {
		if err := c.QueryRow(t.Context(), sql).Scan(&k); err != nil {
			t.Fatal(err)
		}
		return k
	}
	if count("SELECT count(*) FROM parley.scope") == 2 {
		return // it is complete
	}
	const step = 100_000
	for from := count("SELECT coalesce(max(key), 0) + 1 FROM parley.task"); from <= n; from += step {
		if end, ok := t.Deadline(); ok && time.Until(end) < 20*time.Second {
			t.Fatalf("%d of %d tasks are there; run it again to go on", from-1, n)
		}
		tx, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := fmt.Sprintf("generate_series(%d, %d) AS i, LATERAL (SELECT %d + i * 1000::bigint AS u) AS u", from, min(n, from+step-1), begin)
		for _, sql := range []string{
			"INSERT INTO parley.task SELECT i, 'tenant', 'owner', " + idSQL + ", CASE WHEN i % 10 = 0 THEN 'large' ELSE ('c' || i / 4)::bytea END, " +
				"CASE WHEN i % 20 = 0 THEN 1 WHEN i % 20 = 1 THEN 2 WHEN i % 4 = 2 THEN 4 ELSE 3 END, u, u - 100, 4, false, $1::bytea, 1, 0, 2, 1, $2::bytea, $3::bytea FROM " + rows,
			"INSERT INTO parley.entry SELECT i, 4, 1, $1::bytea FROM " + rows,
			"INSERT INTO parley.receipt SELECT 'tenant', 'owner', " + idSQL + ", u, u + 86400000, $1::bytea, i, ''::bytea, 2, ''::bytea FROM " + rows,
		} {
			args := map[string][]any{"task": {arg(like.Row.Node), like.Seal.Head, like.Seal.Body}, "entry": {log}, "receipt": {like.Receipts[0].Digest}}
			table := strings.Fields(strings.TrimPrefix(sql, "INSERT INTO parley."))[0]
			if _, err := tx.Exec(t.Context(), sql, args[table]...); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO parley.task SELECT %d + i, 'elsewhere', 'owner', convert_to(md5(i::text), 'UTF8'), 'c', 2, %d, 0, 4, true, 'dead', 1, 0, 1, 1, NULL, NULL FROM generate_series(1, 10000) AS i ON CONFLICT DO NOTHING", n, filled.UnixMilli()),
		fmt.Sprintf("SELECT setval('parley.task_key', %d)", n/1024+100),
		"VACUUM (ANALYZE)",
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, context := range []string{"", "large"} {
		if err := s.promoteOne(t.Context(), scopeName{"tenant", "owner", context}); err != nil {
			t.Fatal(err)
		}
	}
}

// idSQL is the id of task i, whose time is u. It begins with the time, like a UUID of version
// 7. idOf computes the same.
const idSQL = "convert_to(lpad(to_hex(u), 12, '0') || substr(md5(i::text), 1, 24), 'UTF8')"

func idOf(n, i int) string {
	return fmt.Sprintf("%012x%.24x", filled.UnixMilli()-int64(n-i)*1000, md5.Sum(fmt.Append(nil, i)))[:36]
}

// filled returns when the last task of fill was updated.
var filled = time.UnixMilli(1_764_000_000_000)

// ways are the calls that are measured.
var ways = []way{
	{"Get", func(ctx context.Context, s *Store, n, i int) error {
		r, err := s.Get(ctx, key(n, i), store.Whole)
		if err == nil && r.Seal == nil {
			err = errors.New("there is no seal")
		}
		return err
	}},
	{"a log", func(ctx context.Context, s *Store, n, i int) error {
		es, err := s.Entries(ctx, key(n, i), 0, 100)
		if err == nil && len(es) != 4 {
			err = fmt.Errorf("%d entries", len(es))
		}
		return err
	}},
	lists("first page", func(*store.Query, int, int) {}),
	lists("page in the middle", func(q *store.Query, n, i int) { q.Before = &store.Position{Updated: ago(n/2 + i)} }),
	lists("of a context", func(q *store.Query, n, i int) { q.Context = fmt.Sprint("c", n/8+i) }),
	lists("of a large context", func(q *store.Query, n, i int) { q.Context = "large" }),
	lists("of a state", func(q *store.Query, n, i int) { q.State = 4 }),
	lists("of a large context and a state", func(q *store.Query, n, i int) { q.Context, q.State = "large", 1 }),
	lists("since half of them", func(q *store.Query, n, i int) { q.Since = ago(n/2 + i) }),
	lists("since half of them and of a state", func(q *store.Query, n, i int) { q.Since, q.State = ago(n/2+i), 4 }),
	lists("of all owners", func(q *store.Query, n, i int) { q.Owner, q.AnyOwner = "", true }),
}

// key returns the key of a task in the younger half, of which nothing was deleted.
func key(n, i int) store.Key {
	return store.Key{Tenant: "tenant", Owner: "owner", ID: idOf(n, n/2+n/700*i)}
}

// way is a call to measure, on a store of n tasks, for the i-th time.
type way struct {
	name string
	call func(ctx context.Context, s *Store, n, i int) error
}

func lists(name string, change func(q *store.Query, n, i int)) way {
	return way{name, func(ctx context.Context, s *Store, n, i int) error {
		q := store.Query{Tenant: "tenant", Owner: "owner", Limit: 50}
		change(&q, n, i)
		p, err := s.List(ctx, q)
		if err == nil && (len(p.Records) == 0 || p.Total == 0) {
			return fmt.Errorf("a page of %d, and %d in all", len(p.Records), p.Total)
		}
		return err
	}}
}

func ago(seconds int) time.Time { return filled.Add(-time.Duration(seconds) * time.Second) }

// largeWrites appends tasks for two seconds, to see what a large table costs them.
func largeWrites(t *testing.T, address string) {
	all := several(t, address, 1, nil)
	appending(t, all, func(int) string { return "writer" }, time.Second)
	t.Logf("%.0f quick tasks/s", appending(t, all, func(int) string { return "writer" }, 2*time.Second))
}

// largeTakes gives tasks of a dead node to another one.
func largeTakes(t *testing.T, address string) {
	s := mustOpen(t, address, nil)
	node := fmt.Sprint("node ", time.Now().UnixNano())
	began, n := time.Now(), 0
	for range 30 {
		rows, err := s.Claim(t.Context(), node, time.Now().Add(time.Hour), 64)
		if err != nil {
			t.Fatal(err)
		}
		n += len(rows)
	}
	if n < 30*64 {
		t.Errorf("%d tasks were taken", n)
	}
	t.Logf("%.0f tasks/s taken over, %v each claim of 64", float64(n)/time.Since(began).Seconds(), (time.Since(began) / 30).Round(time.Microsecond))
}

// largeRetention deletes the oldest tasks, as a server does with expired ones.
func largeRetention(t *testing.T, address string) {
	s := mustOpen(t, address, nil)
	var looked, deleted time.Duration
	const pages, size = 10, 256
	for range pages {
		at := time.Now()
		rows, err := s.Idle(t.Context(), store.IdleQuery{State: 3, Before: filled, Limit: size})
		if err != nil {
			t.Fatal(err)
		}
		looked += time.Since(at)
		at = time.Now()
		if n, err := s.Delete(t.Context(), rows); err != nil || n != size {
			t.Fatalf("%d deleted, %v", n, err)
		}
		deleted += time.Since(at)
	}
	t.Logf("%.0f tasks/s deleted, and %v to find %d", pages*size/deleted.Seconds(), (looked / pages).Round(time.Microsecond), size)
	at := time.Now()
	sql(t, address, "VACUUM")
	t.Logf("vacuum afterwards: %v", time.Since(at).Round(time.Millisecond))
}

// logSizes logs the disk space of tables and indexes per task.
func logSizes(t *testing.T, s *Store) {
	t.Helper()
	tasks, err := findOne(t.Context(), s.db, "count", intoNumber, "SELECT count(*) FROM parley.task")
	if err != nil {
		t.Fatal(err)
	}
	type relation struct {
		name string
		size int64
	}
	all, err := find(t.Context(), s.db, "sizes", func(r *relation) []any { return []any{&r.name, &r.size} },
		"SELECT c.relname, pg_relation_size(c.oid) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'parley' AND c.relkind IN ('r', 'i') ORDER BY 2 DESC")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i, r := range all {
		if sum += r.size; i < 14 {
			t.Logf("%6d bytes a task in %s", r.size / *tasks, r.name)
		}
	}
	t.Logf("%6d bytes a task in all, %d MB", sum / *tasks, sum>>20)
}
