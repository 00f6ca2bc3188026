package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// BenchmarkClaim claims 100,000 tasks of two dead nodes in batches of 16, beside a living
// node with as many. The claimer's name sorts before theirs in the index, so a careless scan
// would read the tasks that the claimer already has.
func BenchmarkClaim(b *testing.B) {
	const tasks, batch = 100_000, 16
	var longest, took time.Duration
	for b.Loop() {
		b.StopTimer()
		st, err := Open(filepath.Join(b.TempDir(), "parley.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		var appends []*store.Append
		for i := range 2 * tasks {
			a := task(fmt.Sprint(i), 10)
			a.Row.Active, a.Row.Node = true, []string{"dead 1", "dead 2", "b living", "b living"}[i%4]
			appends = append(appends, a)
		}
		for _, err := range queued(st, appends) {
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := st.Beat(b.Context(), "b living", began.Add(time.Hour)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		claimed := 0
		for n := batch; n == batch; {
			begin := time.Now()
			rows, err := st.Claim(b.Context(), "a claimer", began, batch)
			if err != nil {
				b.Fatal(err)
			}
			n = len(rows)
			claimed += n
			d := time.Since(begin)
			longest, took = max(longest, d), took+d
		}
		b.StopTimer()
		if claimed != tasks {
			b.Fatalf("%d tasks were claimed", claimed)
		}
		st.Close()
		b.StartTimer()
	}
	b.ReportMetric(took.Seconds()*1e3/float64(b.N)/(tasks/batch), "ms/batch")
	b.ReportMetric(longest.Seconds()*1e3, "max-ms")
}
