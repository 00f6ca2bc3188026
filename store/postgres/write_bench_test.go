//go:build unix

package postgres

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

// BenchmarkWrite measures what appends cost on a server whose commits wait for the disk: 64
// writers, with the processor time of this process and the server. "entry" is storetest's,
// with an entry of 300 bytes at a time; "task" is a task with four entries, a seal of 600
// bytes and a receipt, in one append.
func BenchmarkWrite(b *testing.B) {
	c := pgtest.New(b, &pgtest.Options{Durable: true})
	for _, mode := range []string{"", "&default_query_exec_mode=cache_statement"} {
		for what, next := range map[string]func(w, i int, was *store.Append) *store.Append{"entry": oneEntry, "task": wholeTask} {
			b.Run(what+mode, func(b *testing.B) {
				st, err := Open(b.Context(), c.Database(b)+mode, nil)
				if err != nil {
					b.Fatal(err)
				}
				defer st.Close()
				benchWrite(b, c, st, next)
			})
		}
	}
}

func benchWrite(b *testing.B, c *pgtest.Cluster, st *Store, next func(w, i int, was *store.Append) *store.Append) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	before, server, own := st.Stats(), serverCPU(b, c), ownCPU(b)
	b.ResetTimer()
	for w := range 64 {
		wg.Go(func() {
			var a *store.Append
			for i := 0; left.Add(-1) >= 0; i++ {
				a = next(w, i, a)
				if err := store.Do(b.Context(), st, a); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	after := st.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64((serverCPU(b, c)-server).Microseconds())/float64(b.N), "server-µs/op")
	b.ReportMetric(float64((ownCPU(b)-own).Microseconds())/float64(b.N), "own-µs/op")
	b.ReportMetric(float64(b.N)/float64(after.Commits-before.Commits), "appends/commit")
}

func oneEntry(w, i int, was *store.Append) *store.Append {
	if i%16 == 0 {
		was = newTask(fmt.Sprintf("%08d-0000-4000-8000-%012d", w, i), 1)
		was.Entries[0].Body = bytes300
		return was
	}
	after := was.After + 1
	return &store.Append{Row: was.Row, After: after, Epoch: 1, Entries: []store.Entry{{Seq: after + 1, Time: time.Now(), Kind: 1, Body: bytes300}}}
}

func wholeTask(w, i int, _ *store.Append) *store.Append {
	a := newTask(fmt.Sprintf("%08d-0000-4000-8000-%012d", w, i), 4)
	a.Row.Context = a.Row.ID
	a.Row.Active = false
	a.Seal = &store.Seal{Head: bytes300[:100], Body: append(bytes300, bytes300...)}
	a.Receipts = []store.Receipt{{Name: "message " + a.Row.ID, Time: a.Row.Created, Until: a.Row.Created.Add(time.Hour), Digest: bytes300[:32], Seq: 1}}
	return a
}

func ownCPU(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU returns the processor time of all processes of a server, from /proc.
func serverCPU(t testing.TB, c *pgtest.Cluster) time.Duration {
	pid, err := c.PID()
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip(err)
	}
	var ticks int64
	for _, p := range all {
		text, err := os.ReadFile("/proc/" + p.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if p.Name() != strconv.Itoa(pid) && (len(f) < 15 || f[1] != strconv.Itoa(pid)) {
			continue
		}
		for _, s := range f[11:13] { // user, system
			n, _ := strconv.ParseInt(s, 10, 64)
			ticks += n
		}
		if p.Name() == strconv.Itoa(pid) { // of those that ended
			for _, s := range f[13:15] {
				n, _ := strconv.ParseInt(s, 10, 64)
				ticks += n
			}
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
