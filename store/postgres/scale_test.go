package postgres

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

var scale = flag.Duration("scale", 0, "measure what grows with replicas and tasks, for so long each; 0: not at all")

// TestScale prints the slopes that docs/postgres.md uses. It asserts nothing, because the
// results depend on the machine.
func TestScale(t *testing.T) {
	if *scale == 0 {
		t.Skip("it measures; see -scale")
	}
	c := pgtest.New(t, &pgtest.Options{Durable: true, Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "4GB"}})
	t.Run("a task's bytes", func(t *testing.T) { scaleBytes(t, c) })
	t.Run("rows that all replicas count in", func(t *testing.T) { scaleHot(t, c) })
	t.Run("hints", func(t *testing.T) { scaleHints(t, c) })
	t.Run("nodes", func(t *testing.T) { scaleNodes(t, c) })
	t.Run("waiting tasks", func(t *testing.T) { scaleWaiting(t, c) })
}

// quick is a task that begins and ends in one append, about as large as the demo agent's
// echo.
func quick(owner string) *store.Append {
	id := uuid.Must(uuid.NewV7()).String()
	now := time.Now()
	body := func(n int) []byte { return []byte(strings.Repeat("x", n)) }
	return &store.Append{
		Row: store.Row{
			Key: store.Key{Owner: owner, ID: id}, Context: uuid.Must(uuid.NewV7()).String(), State: 3, Updated: now, Created: now,
			Node: "0199c5a0-0000-7000-8000-000000000000", Epoch: 1, Turn: 2, Attempt: 1,
		},
		Entries: []store.Entry{
			{Seq: 1, Time: now, Kind: 1, Body: body(120)}, {Seq: 2, Time: now, Kind: 2, Body: body(220)},
			{Seq: 3, Time: now, Kind: 4, Body: body(240)}, {Seq: 4, Time: now, Kind: 3, Body: body(130)},
		},
		Seal:     &store.Seal{Head: body(60), Body: body(620)},
		Receipts: []store.Receipt{{Name: id, Time: now, Until: now.Add(24 * time.Hour), Digest: body(32), Seq: 2}},
	}
}

// appending appends quick tasks to stores for a while, by 64 writers in all, and
// returns how many a second.
func appending(t *testing.T, stores []*Store, owner func(writer int) string, d time.Duration) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var n atomic.Int64
	var writers sync.WaitGroup
	began := time.Now()
	for w := range 64 {
		st := stores[w%len(stores)]
		writers.Go(func() {
			for ctx.Err() == nil {
				if err := store.Do(t.Context(), st, quick(owner(w))); err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	writers.Wait()
	return float64(n.Load()) / time.Since(began).Seconds()
}

func several(t *testing.T, address string, n int, o *Options) (all []*Store) {
	t.Helper()
	for range n {
		st, err := Open(t.Context(), address, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		all = append(all, st)
	}
	return all
}

func scaleBytes(t *testing.T, c *pgtest.Cluster) {
	st := several(t, c.Database(t), 1, nil)
	one := func(sql string) (n int64) {
		if err := st[0].pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const lsn = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
	appending(t, st, func(int) string { return "owner" }, time.Second) // which makes the owner a scope
	if _, err := st[0].pool.Exec(t.Context(), "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	appending(t, st, func(int) string { return "owner" }, time.Second) // pages that are written in full, once after a checkpoint
	wal, tasks, commits := one(lsn), one("SELECT count(*) FROM parley.task"), st[0].Stats().Commits
	rate := appending(t, st, func(int) string { return "owner" }, *scale)
	tasks = one("SELECT count(*) FROM parley.task") - tasks
	t.Logf("%.0f tasks/s, %.1f tasks a transaction, %d bytes of WAL a task", rate, float64(tasks)/float64(st[0].Stats().Commits-commits), (one(lsn)-wal)/tasks)
	logSizes(t, st[0])
}

func scaleHot(t *testing.T, c *pgtest.Cluster) {
	for _, n := range []int{1, 2, 4, 8} {
		address := c.Database(t)
		all := several(t, address, n, nil)
		appending(t, all, func(int) string { return "owner" }, time.Second)
		var same, own, many []float64
		for range 3 {
			for _, st := range all {
				st.slot = 0
			}
			same = append(same, appending(t, all, func(int) string { return "owner" }, *scale))
			for i, st := range all {
				st.slot = int16(i)
			}
			own = append(own, appending(t, all, func(int) string { return "owner" }, *scale))
			many = append(many, appending(t, all, func(w int) string { return fmt.Sprint("owner ", w) }, *scale))
		}
		t.Logf("%d replicas: one owner %.0f tasks/s in one slot, %.0f in a slot each; 64 owners %.0f", n, median(same), median(own), median(many))
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// speaking makes 64 tasks grow by an entry at a time, and returns the total entries per
// second. A task that begins and ends at once would wake no watcher.
func speaking(t *testing.T, st *Store, d time.Duration) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var n atomic.Int64
	var writers sync.WaitGroup
	began := time.Now()
	for range 64 {
		writers.Go(func() {
			a := quick("owner")
			a.Seal, a.Receipts, a.Row.Active = nil, nil, true
			for ctx.Err() == nil {
				if err := store.Do(t.Context(), st, a); err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
				after := a.After + int64(len(a.Entries))
				a = &store.Append{Row: a.Row, After: after, Epoch: 1, Entries: []store.Entry{
					{Seq: after + 1, Time: time.Now(), Kind: 4, Body: []byte(strings.Repeat("x", 200))},
				}}
			}
		})
	}
	writers.Wait()
	return float64(n.Load()) / time.Since(began).Seconds()
}

func scaleHints(t *testing.T, c *pgtest.Cluster) {
	for _, n := range []int{0, 1, 4, 16} {
		address := c.Database(t)
		writer := several(t, address, 1, nil)[0]
		listeners := several(t, address, n, &Options{Conns: 1})
		var heard atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		for _, l := range listeners {
			watching.Go(func() { _ = l.Watch(ctx, func(store.Hint) { heard.Add(1) }) })
		}
		speaking(t, writer, time.Second)
		heard.Store(0)
		rate := speaking(t, writer, *scale)
		t.Logf("%d listeners: %.0f entries/s, %.0f hints heard a second", n, rate, float64(heard.Load())/scale.Seconds())
		cancel()
		watching.Wait()
	}
}

func scaleNodes(t *testing.T, c *pgtest.Cluster) {
	for _, n := range []int{3, 100, 1000} {
		st := several(t, c.Database(t), 1, nil)[0]
		now := time.Now()
		var tasks []*store.Append
		for i := range n {
			node := fmt.Sprint("node ", i)
			if err := st.Beat(t.Context(), node, now); err != nil {
				t.Fatal(err)
			}
			for range 10_000 / n {
				a := quick("owner")
				a.Row.Active, a.Row.Node, a.Seal = true, node, nil
				tasks = append(tasks, a)
			}
		}
		writeAll(t, st, tasks)
		beat := timed(t, func() error { return st.Beat(t.Context(), "node 0", now) })
		claim := timed(t, func() error {
			_, err := st.Claim(t.Context(), "node 0", now.Add(-time.Hour), 64)
			return err
		})
		t.Logf("%d nodes with 10,000 tasks at work: a beat %v, a look for what others left %v", n, beat, claim)
	}
}

func scaleWaiting(t *testing.T, c *pgtest.Cluster) {
	for _, n := range []int{100, 10_000, 100_000} {
		for _, tenants := range []int{1, 100} {
			st := several(t, c.Database(t), 1, nil)[0]
			tasks := make([]*store.Append, n)
			for i := range tasks {
				a := quick("owner")
				a.Row.Tenant, a.Row.Active, a.Row.Node, a.Row.Epoch, a.Seal = fmt.Sprint("tenant ", i%tenants), true, "", 0, nil
				tasks[i] = a
			}
			writeAll(t, st, tasks)
			after := ""
			draw := timed(t, func() error {
				rows, err := st.Draw(t.Context(), "node", after, 1)
				if len(rows) > 0 {
					after = rows[0].Tenant
				}
				return err
			})
			t.Logf("%d tasks of %d tenants wait: to draw one takes %v", n, tenants, draw)
		}
	}
}

func writeAll(t *testing.T, st *Store, tasks []*store.Append) {
	t.Helper()
	var all sync.WaitGroup
	for _, a := range tasks {
		all.Add(1)
		st.Append(a, func(err error) {
			if err != nil {
				t.Error(err)
			}
			all.Done()
		})
	}
	all.Wait()
}

// timed returns the median of 50 calls.
func timed(t *testing.T, f func() error) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 50 {
		began := time.Now()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Microsecond)
}
