package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// BenchmarkTally measures what tallies add to a commit of 30 new tasks in three cases: one
// owner with many tasks, each in a context of its own; one context with many tasks; and
// owners with few tasks. Its writes are rolled back, so that the database does not grow.
func BenchmarkTally(b *testing.B) {
	st := mustOpen(b, filepath.Join(b.TempDir(), "parley.db"), nil)
	fillList(b, st, 10_000)
	const each = 30
	for _, c := range []struct {
		name string
		row  func(i int) store.Row
	}{
		{"one owner", func(i int) store.Row {
			return store.Row{Key: store.Key{Owner: "owner"}, Context: fmt.Sprint("c", i)}
		}},
		{"one context", func(i int) store.Row { return store.Row{Key: store.Key{Owner: "owner"}, Context: "large"} }},
		{"many owners", func(i int) store.Row {
			return store.Row{Key: store.Key{Owner: fmt.Sprint("owner ", i)}, Context: fmt.Sprint("c", i)}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			rows := make([]store.Row, each)
			for i := range rows {
				rows[i] = c.row(i)
				rows[i].ID, rows[i].State = fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(i*2654435761), i), 3
				rows[i].Updated = began.Add(100*time.Hour + time.Duration(i/10)*time.Millisecond) // a commit takes milliseconds
			}
			t := &st.tally
			for b.Loop() {
				err := st.writer.transaction(func() error {
					if err := t.begin(st.writer); err != nil {
						return err
					}
					for i := range rows {
						if err := t.moved(st.writer, int64(1e6+i), nil, &rows[i]); err != nil {
							return err
						}
					}
					if err := t.write(st.writer); err != nil {
						return err
					}
					return errNothing
				})
				if !errors.Is(err, errNothing) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/each, "ns/task")
		})
	}
}
