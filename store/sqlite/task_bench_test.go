//go:build unix

package sqlite

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
	"golang.org/x/sys/unix"
)

// BenchmarkTask measures the processor time that a task costs the store while many tasks are
// active at all times; on a shared machine this tells more than a rate. A quick task is one
// append, with the seal and the receipt of its message; a stream has ten chunks in five
// appends. IDs are random, or ordered by time like those of the engine and our clients.
func BenchmarkTask(b *testing.B) {
	for _, kind := range []string{"quick", "stream"} {
		for _, ids := range []string{"random", "ordered"} {
			for _, busy := range []int{8, 64} {
				b.Run(fmt.Sprintf("%s/%s/busy=%d", kind, ids, busy), func(b *testing.B) { benchTask(b, busy, kind == "stream", ids == "ordered") })
			}
		}
	}
}

func benchTask(b *testing.B, busy int, stream, ordered bool) {
	st := mustOpen(b, filepath.Join(b.TempDir(), "parley.db"), nil)
	appends := func(n int) []*store.Append {
		if stream {
			return streamOf(n, ordered)
		}
		return []*store.Append{quickTask(n, ordered)}
	}
	var used time.Duration
	const before = 20_000 // a store is not empty for long
	run := func(from, n int) {
		ready := make([][]*store.Append, n)
		for i := range ready {
			ready[i] = appends(from + i)
		}
		used = processorTime(b)
		b.ResetTimer()
		b.StartTimer()
		done := make(chan struct{})
		var next, left atomic.Int64
		left.Store(int64(n))
		var begin func()
		begin = func() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			as := ready[i]
			var step func()
			step = func() {
				a := as[0]
				as = as[1:]
				st.Append(a, func(err error) {
					switch {
					case err != nil:
						b.Error(err)
						close(done)
					case len(as) > 0:
						step()
					case left.Add(-1) == 0:
						close(done)
					default:
						begin()
					}
				})
			}
			step()
		}
		for range busy {
			begin()
		}
		<-done
		b.StopTimer()
		used = processorTime(b) - used
	}
	b.ReportAllocs()
	run(0, before)
	size := checkpointed(b, st)
	logged, was := 0, 0
	st.writing.Lock()
	st.writer.WALHook(func(c *sqlite3.Conn, schema string, pages int) error {
		if logged += pages; pages >= was {
			logged -= was
		}
		was = pages
		return st.cleaner.committed(c, schema, pages)
	})
	st.writing.Unlock()
	commits := st.commits.Load()
	run(before, b.N)
	b.ReportMetric(float64(used)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(st.commits.Load()-commits)/float64(b.N), "commits/op")
	b.ReportMetric(float64(logged*pageSize)/float64(b.N), "log-B/op")
	b.ReportMetric(float64(checkpointed(b, st)-size)/float64(b.N), "file-B/op")
}

// checkpointed moves the log into the database and returns how large that is.
func checkpointed(b *testing.B, st *Store) int64 {
	st.writing.Lock()
	defer st.writing.Unlock()
	st.cleaner.using.Lock() // it may be at work in its own goroutine
	defer st.cleaner.using.Unlock()
	if _, _, err := st.cleaner.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART); err != nil {
		b.Fatal(err)
	}
	pages, err := st.writer.pragma("page_count")
	if err != nil {
		b.Fatal(err)
	}
	return pages * pageSize
}

func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var benchBody = fmt.Appendf(nil, "%0512d", 0)

// streamOf is a task of ten chunks in five appends, the last of which ends it.
func streamOf(n int, ordered bool) []*store.Append {
	first := quickTask(n, ordered)
	seal := first.Seal
	first.Seal, first.Row.Active, first.Row.State = nil, true, 2
	as := []*store.Append{first}
	for range 4 {
		a := &store.Append{Row: first.Row, Epoch: 1, After: as[len(as)-1].Row.Last}
		for i := range 3 {
			a.Entries = append(a.Entries, store.Entry{Seq: a.After + int64(i) + 1, Time: first.Row.Updated, Kind: 3, Body: benchBody[:250]})
		}
		a.Row.Last = a.After + 3
		as = append(as, a)
	}
	last := as[len(as)-1]
	last.Row.Active, last.Row.State, last.Seal = false, 3, &store.Seal{Head: seal.Head, Body: benchBody}
	return as
}
